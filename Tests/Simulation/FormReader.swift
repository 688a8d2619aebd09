import Glibc

/// Reads a multipart/form-data body as servers do (RFC 7578, RFC 2046 section 5.1), and accepts only exact syntax.
struct FormReader {
    struct Part {
        /// By name in lower case.
        var headers: [String: String] = [:]
        var content: ArraySlice<UInt8> = []
    }

    struct Malformed: Error, CustomStringConvertible {
        var description: String
        init(_ description: String) { self.description = description }
    }

    private let body: [UInt8]
    private let contentType: String?

    /// - Parameter contentType: The Content-Type of the request.
    init(_ body: [UInt8], contentType: String?) {
        self.body = body
        self.contentType = contentType
    }

    /// - Throws: `Malformed` if the body is no such form.
    func parts() throws(Malformed) -> [Part] {
        let boundary = try announcedBoundary()
        let first = Array("--\(boundary)".utf8)
        guard body.starts(with: first) else { throw Malformed("it does not begin with its boundary") }
        let delimiter = Array("\r\n".utf8) + first
        var parts: [Part] = []
        var position = first.count
        while !isEnd(position) {
            let begin = position + 2
            guard body[position...].starts(with: Array("\r\n".utf8)), let end = find(delimiter, from: begin) else {
                throw Malformed("part \(parts.count + 1) has no end")
            }
            parts.append(try part(body[begin..<end]))
            position = end + delimiter.count
        }
        return parts
    }

    /// Tells whether the body ends here, after the last boundary, with or without a line break.
    private func isEnd(_ position: Int) -> Bool {
        let rest = body[position...]
        return rest.elementsEqual("--".utf8) || rest.elementsEqual("--\r\n".utf8)
    }

    private func announcedBoundary() throws(Malformed) -> String {
        let begin = "multipart/form-data; boundary="
        guard let contentType, contentType.hasPrefix(begin) else {
            throw Malformed("it is called \(contentType ?? "nothing")")
        }
        let boundary = contentType.dropFirst(begin.count)
        let isPlain = boundary.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45
        }
        guard isPlain, (1...70).contains(boundary.utf8.count) else { throw Malformed("its boundary is \(boundary)") }
        return String(boundary)
    }

    private func part(_ bytes: ArraySlice<UInt8>) throws(Malformed) -> Part {
        guard let end = find(Array("\r\n\r\n".utf8), from: bytes.startIndex), end + 4 <= bytes.endIndex else {
            throw Malformed("a part has no head")
        }
        var part = Part(content: bytes[(end + 4)...])
        for line in String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n") {
            guard let colon = line.firstIndex(of: ":") else { throw Malformed("\(line) is no field") }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            part.headers[line[..<colon].lowercased()] = String(value)
        }
        return part
    }

    /// - Parameter wanted: Begins with CR, which is rare in a file.
    private func find(_ wanted: [UInt8], from begin: Int) -> Int? {
        body.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var position = begin
            while position + wanted.count <= bytes.count {
                guard let lineEnd = memchr(base + position, 13, bytes.count - position) else { return nil }
                position = UnsafeRawPointer(lineEnd) - base
                if position + wanted.count <= bytes.count, memcmp(base + position, wanted, wanted.count) == 0 {
                    return position
                }
                position += 1
            }
            return nil
        }
    }
}
