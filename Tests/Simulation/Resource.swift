import Glibc
import TestSupport
import TransferCore
import TransferModel

/// A file of a simulated server, and how that server treats it.
struct Resource {
    enum Validator: CaseIterable { case strong, weak, date, none }

    let number: Int
    let validator: Validator
    let hasRanges: Bool
    let saysLength: Bool
    /// The URL answers with 500 while the world has bad servers, whatever the host's other URLs answer.
    let isSick: Bool
    /// A request needs credentials.
    let isLocked: Bool
    /// Its servers are reached over TLS.
    let isSecure: Bool
    /// The password of the user "user".
    static let password = "right"
    /// The longest time that its server takes to answer while the world has bad servers, in seconds.
    let slowness: Int
    /// The length of each version. Versions of equal length are the hardest to tell apart.
    private let lengths: [Int]
    private let seed: UInt64
    /// The Cache-Control field. Nil means none.
    let caching: String?
    /// When a version was last given as the answer, by the wall clock in milliseconds.
    private(set) var confirmed: [Int: Int64] = [:]
    private(set) var version = 0
    private let made = Made()

    /// The contents that were requested already.
    private final class Made {
        var contents: [Int: [UInt8]] = [:]
    }

    init(_ number: Int, _ traits: Odds.Traits, _ random: inout SeededGenerator) {
        self.number = number
        validator = random.chance(400) ? .strong : Validator.allCases[random.below(4)]
        hasRanges = random.chance(800)
        saysLength = random.chance(850)
        let first = random.fileLength()
        let isSteady = random.chance(600)
        lengths = [first] + (0..<31).map { _ in isSteady ? first : random.below(200_000) }
        seed = random.next()
        caching = [nil, "no-store", "no-cache", "max-age=30", "max-age=600"][random.below(5)]
        isLocked = random.chance(60)
        isSick = random.chance(traits.sick)
        slowness = random.chance(traits.slow) ? 1500 : 0
        isSecure = random.chance(250)
    }

    /// Tells whether the request is answered with 401.
    func refuses(_ network: NetworkOptions) -> Bool {
        isLocked && !network.answered.contains { $0.password == Self.password }
    }

    var path: String { "/r\(number)" }
    var host: String { "h\(number % 3).localhost" }
    private var scheme: String { isSecure ? "https" : "http" }
    var url: String { "\(scheme)://\(host)\(path)" }
    /// The same resource under another name of the host.
    var otherURL: String { "\(scheme)://g\(number % 3).localhost\(path)" }
    static func number(inURL url: String) -> Int? { url.split(separator: "r").last.flatMap { Int($0) } }

    mutating func change() { if version + 1 < lengths.count { version += 1 } }

    func content(_ version: Int) -> [UInt8] {
        if let known = made.contents[version] { return known }
        var random = SeededGenerator(seed: seed &+ UInt64(version))
        let bytes = random.bytes(lengths[version])
        made.contents[version] = bytes
        return bytes
    }

    var versions: Range<Int> { 0..<(version + 1) }

    /// The time for which an answer may be used without validation, in seconds. Nil if the server does not give one.
    var freshness: Int64? {
        switch caching {
        case nil, "no-store": nil
        case "no-cache": 0
        case let text?: Int64(text.dropFirst(8))
        }
    }

    private var tag: String? {
        switch validator {
        case .strong: "\"\(number).\(version)\""
        case .weak: "W/\"\(number).\(version)\""
        case .date, .none: nil
        }
    }

    /// Versions are hours apart, files are months apart, and all of them are old.
    private var modified: String? {
        validator == .date ? httpDate(1_600_000_000 + number * 30 * 86400 + version * 3600) : nil
    }

    /// Returns the answer to a request, and the body that follows.
    mutating func answer(
        to headers: [HeaderField], at now: Timestamp
    ) -> (head: ResponseHead, body: ArraySlice<UInt8>) {
        let whole = content(version)
        confirmed[version] = now.rawValue
        var head = ResponseHead(url: url, status: 200, httpVersion: "1.1")
        head.headers.append(HeaderField("Date", httpDate(Int(now.rawValue / 1000))))
        if let tag { head.headers.append(HeaderField("ETag", tag)) }
        if let modified { head.headers.append(HeaderField("Last-Modified", modified)) }
        if hasRanges { head.headers.append(HeaderField("Accept-Ranges", "bytes")) }
        if let caching { head.headers.append(HeaderField("Cache-Control", caching)) }
        if isKnown(to: headers) {
            head.status = 304
            return (head, [])
        }
        let body = range(headers, whole.count)
        switch body {
        case nil: break
        case .some(let range) where range.isEmpty:
            head.status = 416
            head.headers.append(HeaderField("Content-Range", "bytes */\(whole.count)"))
            return (head, [])
        case .some(let range):
            head.status = 206
            head.headers.append(
                HeaderField("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole.count)"))
        }
        let sent = whole[body ?? 0..<whole.count]
        if saysLength || body != nil { head.headers.append(HeaderField("Content-Length", "\(sent.count)")) }
        return (head, sent)
    }

    /// Tells whether the client has this version (RFC 9110 section 13.1).
    private func isKnown(to headers: [HeaderField]) -> Bool {
        func value(_ name: String) -> String? { headers.first { $0.isNamed(name) }?.value }
        if let known = value("if-none-match") { return known == tag }
        return modified != nil && value("if-modified-since") == modified
    }

    /// Returns nil if the entire body is sent: no range was requested, or If-Range does not match (RFC 9110 section
    /// 13.1.5).
    private func range(_ headers: [HeaderField], _ length: Int) -> Range<Int>? {
        guard hasRanges, let asked = headers.first(where: { $0.isNamed("range") })?.value,
            asked.hasPrefix("bytes=")
        else { return nil }
        if let condition = headers.first(where: { $0.isNamed("if-range") })?.value {
            guard condition == tag && validator == .strong || condition == modified else { return nil }
        }
        let ends = asked.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]) else { return nil }
        let last = Int(ends[1]).map { min($0, length - 1) } ?? length - 1
        return first < length && first <= last ? first..<(last + 1) : length..<length
    }

    private func httpDate(_ seconds: Int) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        var text = [CChar](repeating: 0, count: 64)
        let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
