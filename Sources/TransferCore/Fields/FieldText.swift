/// What a field value is read with, from its front (RFC 9110 section 5.6).
extension Substring.UTF8View {
    /// Takes the bytes up to the first that does not satisfy `condition`.
    mutating func take(while condition: (UInt8) -> Bool) -> String {
        let end = firstIndex { !condition($0) } ?? endIndex
        defer { self = self[end...] }
        return String(decoding: self[..<end], as: UTF8.self)
    }

    /// Takes a quoted string, at whose first quote this is, without quotes and escapes (section 5.6.4). One without an end
    /// goes to the end of the value.
    mutating func takeQuoted() -> String {
        removeFirst()
        var bytes: [UInt8] = []
        while let byte = popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), let next = popFirst() {
                bytes.append(next)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
