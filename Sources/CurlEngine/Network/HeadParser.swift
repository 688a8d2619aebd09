import TransferCore
import TransferModel

/// Reads header lines as libcurl hands them out, and keeps those of the latest response only.
///
/// RFC 9112 section 4 and 5; interim responses (1xx) are skipped, lines after the head are trailers.
package struct HeadParser {
    package enum Event: Equatable {
        case none
        /// The blank line of a response that is not interim.
        case headEnded
        /// The blank line of an interim response (1xx).
        case interimEnded
    }

    private enum Stage { case waiting, head, interim, ended }

    package private(set) var status: Int?
    package private(set) var httpVersion: String?
    private(set) var reason: String?
    package private(set) var headers: [HeaderField] = []
    package private(set) var trailers: [HeaderField] = []
    private var stage = Stage.waiting
    private var announced: [HeaderField] = []

    package init() {}

    /// Whether no head has begun since the last interim one ended.
    var isWaiting: Bool { stage == .waiting }

    /// Whether a whole final head was read.
    var isComplete: Bool { stage == .ended }

    /// The size that libcurl tells of an FTP file whose body was not asked for, in the form of a field.
    var announcedLength: Int64? { announced.last.flatMap { Int64($0.value) } }

    package mutating func line(_ bytes: UnsafeRawBufferPointer) -> Event {
        let line = Self.withoutEnd(bytes)
        if line.starts(with: "HTTP/".utf8) { return statusLine(String(decoding: line, as: UTF8.self)) }
        switch stage {
        case .waiting:
            if line.starts(with: "Content-Length:".utf8) { Self.add(line, to: &announced) }
            return .none
        case .interim:
            if line.isEmpty {
                stage = .waiting
                return .interimEnded
            }
            Self.add(line, to: &headers)
        case .head:
            if line.isEmpty {
                stage = .ended
                return .headEnded
            }
            Self.add(line, to: &headers)
        case .ended: trailer(bytes)
        }
        return .none
    }

    /// Takes a line that is a trailer, whatever it looks like.
    mutating func trailer(_ bytes: UnsafeRawBufferPointer) {
        let line = Self.withoutEnd(bytes)
        if !line.isEmpty { Self.add(line, to: &trailers) }
    }

    private static func withoutEnd(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var end = bytes.count
        while end > 0, bytes[end - 1] == 10 || bytes[end - 1] == 13 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[..<end])
    }

    private mutating func statusLine(_ line: String) -> Event {
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        self = HeadParser()
        httpVersion = String(parts[0].dropFirst(5))
        status = parts.count > 1 ? Int(parts[1]) : nil
        let text = parts.count > 2 ? parts[2].trimmingSpaces() : ""
        reason = text.isEmpty ? nil : text
        stage = (100..<200).contains(status ?? 0) ? .interim : .head
        return .none
    }

    /// A line without a colon or that begins with a space continues the one before (obsolete folding).
    private static func add(_ line: UnsafeRawBufferPointer, to fields: inout [HeaderField]) {
        let text = text(line)
        if let first = line.first, first == 32 || first == 9 {
            guard let last = fields.indices.last else { return }
            fields[last].value = (fields[last].value + " " + text[...].trimmingSpaces())[...].trimmingSpaces()
            return
        }
        guard let colon = text.firstIndex(of: ":") else { return }
        let name = text[..<colon].trimmingSpaces()
        fields.append(HeaderField(name, text[text.index(after: colon)...].trimmingSpaces()))
    }

    /// Bytes that are no UTF-8 are ISO-8859-1, as they were before RFC 9110 (section 5.5). CR and NUL become spaces, as it
    /// asks for: what a server sent may be sent back to it.
    private static func text(_ line: UnsafeRawBufferPointer) -> String {
        if line.contains(where: { $0 == 13 || $0 == 0 }) {
            return line.map { $0 == 13 || $0 == 0 ? 32 : $0 }.withUnsafeBytes(text)
        }
        return String(validating: line, as: UTF8.self)
            ?? String(String.UnicodeScalarView(line.map { Unicode.Scalar($0) }))
    }

    func values(_ name: String) -> [String] {
        headers.filter { $0.isNamed(name) }.map(\.value)
    }

    /// Where the response says to go on, if it is a redirect that is followed.
    var redirectTarget: String? {
        guard let status, [301, 302, 303, 307, 308].contains(status) else { return nil }
        return values("location").first
    }

    /// Whether credentials are asked for.
    var isChallenge: Bool { status == 401 || status == 407 }

    /// Whether the body's end is marked by a length or a last chunk. HTTP/2 without a length is not trusted: some
    /// servers end a cut stream with NO_ERROR.
    var isDelimited: Bool {
        guard let status else { return true }
        if status == 204 || status == 304 || !values("content-length").isEmpty { return true }
        return values("transfer-encoding").contains { $0.lowercased().contains("chunked") }
    }
}

extension Substring {
    /// Without spaces and tabs at both ends.
    func trimmingSpaces() -> String {
        var slice = self
        while let first = slice.first, first == " " || first == "\t" { slice.removeFirst() }
        while let last = slice.last, last == " " || last == "\t" { slice.removeLast() }
        return String(slice)
    }
}
