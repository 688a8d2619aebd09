import Glibc
import TransferCore
import TransferModel

/// Reads header lines as libcurl delivers them, and keeps only those of the latest response.
///
/// RFC 9112 sections 4 and 5. Interim responses (1xx) are reported separately; lines after the final header are
/// trailers.
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
    /// Values of Set-Cookie fields that have more than ASCII, by their places among the headers.
    private var cookies: [Int: String] = [:]
    private var announced: [HeaderField] = []
    /// The lines of FTP's last reply.
    private var replied: [String] = []

    package init() {}

    /// Whether no header has begun since the last interim one ended.
    var isWaiting: Bool { stage == .waiting }

    /// Whether a complete final header was read.
    var isComplete: Bool { stage == .ended }

    /// The size that libcurl reports for an FTP file whose body was not requested, in the form of a field.
    var announcedLength: Int64? { announced.last.flatMap { Int64($0.value) } }

    /// FTP's last reply with its code, in one line; nil if none arrived.
    var reply: String? {
        guard let code = replied.first?.prefix(3) else { return nil }
        let words = replied.map { $0.hasPrefix(code) ? String($0.dropFirst(4)) : $0 }.joined(separator: " ")
        return "\(code) \(words)"
    }

    /// A reply of several lines begins with `530-` and ends with `530 ` (RFC 959 section 4.2). After a refusal, libcurl
    /// says QUIT; the 221 that answers it says nothing of that.
    private mutating func reply(_ line: UnsafeRawBufferPointer) {
        let text = String(decoding: line.prefix(Self.longestReplyLine).map { $0 < 32 ? Self.space : $0 }, as: UTF8.self)
        if let first = replied.first, first.dropFirst(3).first == "-",
            replied.last?.hasPrefix("\(first.prefix(3)) ") == false
        {
            if replied.count == Self.mostReplyLines { replied.removeLast() }
            replied.append(text)
        } else if !text.hasPrefix("221") {
            replied = [text]
        }
    }

    package mutating func line(_ bytes: UnsafeRawBufferPointer) -> Event {
        let line = Self.withoutEnd(bytes)
        if Self.isStatusLine(line) { return statusLine(line) }
        switch stage {
        case .waiting:
            if line.starts(with: "Content-Length:".utf8) { Self.add(line, to: &announced) } else { reply(line) }
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
            if headers.last?.isNamed("set-cookie") == true { noteOctets(of: line) }
        case .ended: trailer(bytes)
        }
        return .none
    }

    /// Reads a line as a trailer, whatever it looks like.
    mutating func trailer(_ bytes: UnsafeRawBufferPointer) {
        let line = Self.withoutEnd(bytes)
        if !line.isEmpty { Self.add(line, to: &trailers) }
    }

    private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        guard line.count >= 5, let start = line.baseAddress else { return false }
        return memcmp(start, "HTTP/", 5) == 0
    }

    private static func withoutEnd(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var end = bytes.count
        while end > 0, bytes[end - 1] == 10 || bytes[end - 1] == 13 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[..<end])
    }

    private mutating func statusLine(_ line: UnsafeRawBufferPointer) -> Event {
        let parts = line.split(separator: Self.space, maxSplits: 2, omittingEmptySubsequences: false)
        self = HeadParser()
        httpVersion = String(decoding: parts[0].dropFirst(5), as: UTF8.self)
        status = parts.count > 1 ? Int(String(decoding: parts[1], as: UTF8.self)) : nil
        let text = parts.count > 2 ? String(decoding: Self.trimmed(parts[2]), as: UTF8.self) : ""
        reason = text.isEmpty ? nil : text
        headers.reserveCapacity(Self.usualCount)
        stage = (100..<200).contains(status ?? 0) ? .interim : .head
        return .none
    }

    private static let (longestReplyLine, mostReplyLines) = (200, 20)
    /// Most answers have at most this many fields.
    private static let usualCount = 16
    private static let space = UInt8(ascii: " ")
    private static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == UInt8(ascii: "\t") }

    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        var bytes = bytes
        while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }

    private mutating func noteOctets(of line: UnsafeRawBufferPointer) {
        if let first = line.first, Self.isBlank(first) {
            // It continues a field, whose text then has the whole value.
            cookies[headers.count - 1] = nil
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            line.contains(where: { $0 >= 0x80 })
        else { return }
        let value = Self.trimmed(line[(colon + 1)...])
        cookies[headers.count - 1] = CookieOctets.text(of: value.map { $0 == 13 || $0 == 0 ? Self.space : $0 })
    }

    /// Values of the Set-Cookie fields, with their octets (`CookieOctets`).
    var setCookies: [String] {
        headers.indices.filter { headers[$0].isNamed("set-cookie") }.map { cookies[$0] ?? headers[$0].value }
    }

    /// A line that begins with a blank continues the previous one (obsolete folding); a line without a colon is
    /// ignored. CR and NUL become spaces, as RFC 9110 section 5.5 requires, because a server's text may be sent back to
    /// it.
    private static func add(_ line: UnsafeRawBufferPointer, to fields: inout [HeaderField]) {
        if let field = plainField(line) { return fields.append(field) }
        if line.contains(where: { $0 == 13 || $0 == 0 }) {
            return line.map { $0 == 13 || $0 == 0 ? space : $0 }.withUnsafeBytes { add($0, to: &fields) }
        }
        if let first = line.first, isBlank(first) {
            let more = trimmed(line[...])
            guard let last = fields.indices.last, !more.isEmpty else { return }
            let known = fields[last].value
            fields[last].value = (known.isEmpty ? "" : known + " ") + (text(more) ?? latin1(more))
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let (name, value) = (trimmed(line[..<colon]), trimmed(line[(colon + 1)...]))
        if let name = text(name), let value = text(value) {
            fields.append(HeaderField(name, value))
        } else {
            fields.append(HeaderField(latin1(name), latin1(value)))
        }
    }

    /// A line of printable ASCII that begins with a name, as nearly all do; nil for any other.
    private static func plainField(_ line: UnsafeRawBufferPointer) -> HeaderField? {
        guard let first = line.first, !isBlank(first), isPlain(line), let start = line.baseAddress,
            let found = memchr(start, Int32(UInt8(ascii: ":")), line.count)
        else { return nil }
        let colon = UnsafeRawPointer(found) - start
        return HeaderField(ascii(line, 0, colon), ascii(line, colon + 1, line.count))
    }

    /// Whether the bytes are printable ASCII and tabs. Eight bytes are checked at a time.
    private static func isPlain(_ line: UnsafeRawBufferPointer) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var place = 0
        while place + 8 <= line.count {
            let word = line.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            // The highest bit of each byte that is below a space or above a tilde.
            let found = (word &- ones &* 0x20) & ~word | (word &+ ones) | word
            if found & (ones &* 0x80) != 0 { break }
            place += 8
        }
        return line[place...].allSatisfy { $0 >= space && $0 < 127 || $0 == UInt8(ascii: "\t") }
    }

    /// These bytes without surrounding blanks. (Validating costs ten times as much as this copy.)
    private static func ascii(_ line: UnsafeRawBufferPointer, _ start: Int, _ end: Int) -> String {
        var (start, end) = (start, end)
        while start < end, isBlank(line[start]) { start += 1 }
        while start < end, isBlank(line[end - 1]) { end -= 1 }
        return String(unsafeUninitializedCapacity: end - start) { text in
            let bytes = UnsafeRawBufferPointer(rebasing: line[start..<end])
            UnsafeMutableRawBufferPointer(text).copyMemory(from: bytes)
            return bytes.count
        }
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String? {
        String(validating: bytes, as: UTF8.self)
    }

    /// The bytes of a line that is not UTF-8 are read as ISO-8859-1, as before RFC 9110 (section 5.5).
    private static func latin1(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    func values(_ name: String) -> [String] { headers.values(named: name) }

    /// The only Content-Length, if nothing else says how the body ends.
    var plainLength: Int64? {
        let lengths = values("content-length")
        return lengths.count == 1 && values("transfer-encoding").isEmpty ? Int64(lengths[0]) : nil
    }

    /// The target of a redirect that is followed, or that a client is asked about: in that case, of any redirect that
    /// names a target except 300 and 304.
    func redirectTarget(_ rule: RedirectRule = .follow) -> String? {
        guard let status else { return nil }
        switch rule {
        case .follow where [301, 302, 303, 307, 308].contains(status): return values("location").first
        case .ask where (301..<400).contains(status) && status != 304: return values("location").first
        case .follow, .ask, .refuse, .answered: return nil
        }
    }

    /// Whether the response is a challenge.
    var isChallenge: Bool { status == 401 || status == 407 }

    /// Whether a length or a last chunk marks the body's end. HTTP/2 without a length is not trusted: some servers end
    /// a cut stream with NO_ERROR.
    var isDelimited: Bool {
        guard let status else { return true }
        if status == 204 || status == 304 || !values("content-length").isEmpty { return true }
        return values("transfer-encoding").contains { $0.lowercased().contains("chunked") }
    }
}
