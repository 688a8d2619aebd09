/// Functions that read a field value from its front (RFC 9110 section 5.6).
extension Substring.UTF8View {
    /// Reads the bytes up to the first that does not satisfy `condition`.
    mutating func take(while condition: (UInt8) -> Bool) -> String {
        let end = firstIndex { !condition($0) } ?? endIndex
        defer { self = self[end...] }
        return String(decoding: self[..<end], as: UTF8.self)
    }

    /// Reads a quoted string from its opening quote, without quotes and escapes (section 5.6.4). An unterminated string
    /// extends to the end of the value.
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
