/// One entry of the journal with its own fields (systemd.journal-fields(7)).
struct JournalEntry: Sendable {
    /// Names are upper case letters, digits and underscores.
    var fields: [(name: String, value: String)]

    /// The entry in the form of <https://systemd.io/JOURNAL_NATIVE_PROTOCOL>. Every value is preceded by its length, so
    /// that no character in it can begin another field.
    var datagram: [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in fields {
            bytes += name.utf8
            bytes.append(UInt8(ascii: "\n"))
            withUnsafeBytes(of: UInt64(value.utf8.count).littleEndian) { bytes += $0 }
            bytes += value.utf8
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    /// `DLD_TASK` for `task`, `DLD_FILE_NAME` for `fileName`. Characters that a field name must not have become
    /// underscores. A key in capitals is a name already.
    static func fieldName(of key: String) -> String {
        if key == key.uppercased() { return String(key.prefix(64)) }
        var name = "DLD_"
        for byte in key.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): name.unicodeScalars.append(Unicode.Scalar(byte - 32))
            case UInt8(ascii: "0")...UInt8(ascii: "9"): name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): name += "_" + String(Unicode.Scalar(byte))
            default: name += "_"
            }
        }
        return String(name.prefix(64))
    }
}
