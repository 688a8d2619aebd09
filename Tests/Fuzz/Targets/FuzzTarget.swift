import TransferCore

/// A function that reads input from outside, and the rules that must hold for every input.
///
/// The same functions run under libFuzzer (`make fuzz`) and as a test, with the committed inputs and some thousand
/// mutations of them.
package struct FuzzTarget: Sendable {
    package let name: String
    /// Words that mutations insert. They select the branches of the grammar.
    package let words: [String]
    /// - Throws: `Violation` if the input breaks a rule.
    package let check: @Sendable ([UInt8]) throws -> Void
    /// The same check with a defect planted into the tested code. A harness that does not find the defect checks
    /// nothing.
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
        CodingProbe.target, HelperProbe.target, NotificationProbe.target,
    ]
}

/// What a target does with one input.
protocol Probe: Sendable {
    /// - Throws: `Violation` if the input breaks a rule.
    func check(_ input: [UInt8]) throws
}

/// A rule that must hold and does not.
package struct Violation: Error, CustomStringConvertible {
    package let description: String
}

/// - Throws: `Violation` unless `condition` is true.
func hold(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw Violation(description: what()) }
}

/// Returns a number that depends only on the input. Targets use it to vary something that is not part of the input, so
/// that the input stays readable.
func fingerprint(_ input: [UInt8]) -> UInt64 {
    input.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
}

/// Returns the input as the value of a header field: only the bytes that HTTP allows, decoded as the daemon decodes
/// them.
func fieldValue(_ input: [UInt8]) -> String {
    Charsets.guess(input.filter { $0 >= 0x20 && $0 != 0x7F || $0 == 9 })
}

/// Returns the text shortened for a message.
func shown(_ text: some StringProtocol) -> String {
    String(text.unicodeScalars.prefix(200).map { $0.escaped(asASCII: true) }.joined())
}
