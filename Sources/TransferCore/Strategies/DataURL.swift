import TransferModel

/// The content of a data URL (RFC 2397).
package struct DataURL: Sendable, Hashable {
    /// With its parameters, as written; `text/plain;charset=US-ASCII` if the URL names none.
    package var mediaType: String
    package var bytes: [UInt8]

    /// - Throws: `request.bad_url`.
    package init(_ url: String) throws(TransferError) {
        guard url.prefix(5).lowercased() == "data:" else { throw URLRules.bad("it is not a data URL") }
        let content = url.dropFirst(5).prefix { $0 != "#" }
        guard let comma = content.firstIndex(of: ",") else {
            throw URLRules.bad("a data URL needs a comma before its data")
        }
        var type = content[..<comma].trimmed
        let data = PercentCoding.decode(content[content.index(after: comma)...])
        bytes = data
        if let marker = Self.base64Marker(type) {
            type = String(type[..<marker])
            let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0C, 0x0D]
            let text = String(decoding: data.filter { !blanks.contains($0) }, as: UTF8.self)
            guard let decoded = Base64.decode(text) else { throw URLRules.bad("its data is not base64") }
            bytes = decoded
        }
        mediaType = type.isEmpty ? "text/plain;charset=US-ASCII" : type.hasPrefix(";") ? "text/plain" + type : type
    }

    /// Index of `;base64`, if the type ends with it.
    private static func base64Marker(_ type: String) -> String.Index? {
        guard let semicolon = type.lastIndex(of: ";") else { return nil }
        return type[type.index(after: semicolon)...].trimmed.lowercased() == "base64" ? semicolon : nil
    }
}

/// "Downloads" the content of a data URL; the engine decodes it with `DataURL` and writes it like any body.
package struct DataURLDownload: TransferStrategy {
    private let url: String
    private let size: ByteCount
    package private(set) var progress: Acceptance?

    /// - Throws: `request.bad_url` if the data cannot be decoded.
    init(_ request: StrategyRequest, _ url: ParsedURL) throws(TransferError) {
        self.url = url.requestURL
        size = ByteCount(Int64(try DataURL(url.requestURL).bytes.count))
    }

    private var judge: StatJudge { StatJudge(offset: 0, size: size, validators: Validators()) }

    package mutating func next(after outcome: ExchangeOutcome?) -> Step<Arrival> {
        guard let outcome else { return .run(Exchange(url: url, judge: judge)) }
        guard outcome.end == .finished, outcome.offset == size else {
            return .failed(FailureClassifier.classify(outcome, url: url))
        }
        progress = judge.acceptance
        return .finished(Arrival(total: size, lengthProven: true, head: outcome.head))
    }
}
