import TransferCore

/// Something that reads input from outside, and what must hold whatever it is given.
///
/// The same functions run under libFuzzer (`make fuzz`) and, over the committed inputs and some thousand mutations of
/// them, as a test.
package struct FuzzTarget: Sendable {
    package let name: String
    /// Words that mutations put in: where the grammar's branches are.
    package let words: [String]
    /// - Throws: `Violation` where the input breaks what must hold.
    package let check: @Sendable ([UInt8]) throws -> Void
    /// The same with a defect planted into what is tested: a harness that does not find it looks at nothing.
    package let checkPlanted: @Sendable ([UInt8]) throws -> Void

    /// - Parameters:
    ///   - sound: the product.
    ///   - planted: the product with a defect.
    init(_ name: String, words: [String], _ sound: some Probe, planted: some Probe) {
        self.name = name
        self.words = words
        check = { try sound.check($0) }
        checkPlanted = { try planted.check($0) }
    }

    package static let all: [FuzzTarget] = [
        FramingProbe.target, ParametersProbe.target, ListedTaskProbe.target,
        ContentDispositionProbe.target, ContentRangeProbe.target, RetryAfterProbe.target, LinkProbe.target,
        ChallengeProbe.target, AnswerProbe.target,
        HeadProbe.target, URLProbe.target, UploadProbe.target,
        MetalinkProbe.target, ResumeDataProbe.target, PageCursorProbe.target, ConfigurationProbe.target,
        SetCookieProbe.target, StrictTransportSecurityProbe.target, NetscapeProbe.target, CachedResponseProbe.target,
        BrowserProbe.target, GitCredentialProbe.target, CallSequenceProbe.target,
        ListFileProbe.target,
        StoredMetricsProbe.target,
        CodingProbe.target, HelperProbe.target,
    ]
}

/// What a target does with one input.
protocol Probe: Sendable {
    /// - Throws: `Violation`.
    func check(_ input: [UInt8]) throws
}

/// What must hold and does not.
package struct Violation: Error, CustomStringConvertible {
    package let description: String
}

/// - Throws: `Violation` unless `condition`.
func hold(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw Violation(description: what()) }
}

/// A number that an input gives again: where something is to vary that does not stand in the input, which stays
/// readable for that.
func fingerprint(_ input: [UInt8]) -> UInt64 {
    input.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
}

/// Input as a header field's value: what HTTP lets through, read as the daemon reads it.
func fieldValue(_ input: [UInt8]) -> String {
    Charsets.guess(input.filter { $0 >= 0x20 && $0 != 0x7F || $0 == 9 })
}

/// The text shortened for a message.
func shown(_ text: some StringProtocol) -> String {
    String(text.unicodeScalars.prefix(200).map { $0.escaped(asASCII: true) }.joined())
}
