import FileKit
import Glibc

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
    /// underscores.
    static func fieldName(of key: String) -> String {
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

/// The journal's socket, for entries with fields. Sending may block if the journal is slow, so only the log's thread
/// sends.
final class JournalSocket: Sendable {
    package static let path = "/run/systemd/journal/socket"

    private let descriptor: Int32
    private let address: UnixAddress

    init?(path: String = JournalSocket.path) {
        guard let address = UnixAddress(path) else { return nil }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        self.address = address
    }

    deinit { close(descriptor) }

    /// Returns false if the journal did not accept the entry. The line must then go to standard error.
    func send(_ entry: JournalEntry) -> Bool {
        let datagram = entry.datagram
        return address.withSocketAddress { pointer, length in
            retrying {
                sendto(descriptor, datagram, datagram.count, Int32(MSG_NOSIGNAL), pointer, length)
            }.result == datagram.count
        }
    }
}
