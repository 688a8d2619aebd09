import Testing
import TransferModel

@testable import TransferCore

struct InterfaceChoiceTests {
    @Test(arguments: [
        ("eth0", InterfaceChoice.device("eth0")), ("if!eth0", .device("eth0")), ("wg-office.1", .device("wg-office.1")),
        ("fifteen-letters", .device("fifteen-letters")), ("12", .device("12")),
        ("192.0.2.7", .address("192.0.2.7")), ("::1", .address("::1")),
        ("2001:DB8:0:0:0:0:0:1", .address("2001:db8::1")),
    ])
    func aDeviceOrAnAddressIsNamed(text: String, choice: InterfaceChoice) { #expect(InterfaceChoice(text) == choice) }

    @Test(arguments: [
        "", "if!", ".", "..", "sixteen-letters.", "a b", "a/b", "eth0:1", "host!192.0.2.7", "ifhost!eth0!192.0.2.7",
        "if!if!eth0", "fe80::1%eth0", "[::1]", "192.0.2.7/24", "eth0\n", "\u{7F}",
    ])
    func otherTextsAreRefused(_ text: String) { #expect(InterfaceChoice(text) == nil) }

    /// The host is not at fault: the task waits for the device.
    @Test func withoutTheDeviceATaskWaitsForTheNetwork() {
        let error = TransferError.noInterface("eth7")
        #expect(error.message.contains("eth7"))
        let outcome = ExchangeOutcome(end: .stopped(.failure(error, retryAfter: nil)))
        let failure = FailureClassifier.classify(outcome, url: "http://example.org/")
        #expect(failure.disposition == .network && HostGates.Report(failure) == .nothing)
        let helper = ExchangeOutcome(end: .stopped(.failure(.unboundHelper("ipfs"), retryAfter: nil)))
        #expect(FailureClassifier.classify(helper, url: "ipfs://x").disposition == .permanent)
    }
}
