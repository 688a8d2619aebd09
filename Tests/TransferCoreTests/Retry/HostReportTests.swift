import Testing
import TransferModel

@testable import TransferCore

struct HostReportTests {
    private func report(
        _ code: ErrorCode, status: Int? = nil, _ disposition: AttemptFailure.Disposition = .transient(after: nil),
        progressed: Bool = false
    ) -> HostGates.Report {
        let details: [String: JSONValue] = status.map { ["status": .integer(Int64($0))] } ?? [:]
        return HostGates.Report(
            AttemptFailure(
                error: TransferError(code, "x", details: details), disposition: disposition, progressed: progressed))
    }

    @Test func aStatusIsAnAnswer() {
        for status in [400, 401, 403, 404, 408, 416, 425] {
            #expect(report(.httpStatus, status: status) == .answered)
            #expect(report(.httpStatus, status: status, .permanent) == .answered)
        }
        for status in [500, 502, 503, 504, 511, 520] { #expect(report(.httpStatus, status: status) == .refused) }
    }

    @Test func aTimeThatA429Or503NamesIsTheHosts() {
        for status in [429, 503] {
            #expect(report(.httpStatus, status: status, .transient(after: 7)) == .throttled(retryAfter: 7))
        }
        #expect(report(.httpStatus, status: 429) == .throttled(retryAfter: nil))
        #expect(report(.httpStatus, status: 500, .transient(after: 7)) == .refused)
        #expect(report(.httpStatus, status: 408, .transient(after: 7)) == .answered)
    }

    @Test func anFTPServerWithoutASessionLeftIsHeld() {
        #expect(report(.httpStatus, .transient(after: 5)) == .throttled(retryAfter: 5))
        #expect(report(.httpStatus) == .answered && report(.httpStatus, .permanent) == .answered)
    }

    /// The host has answered, and is not responsible for the target of its redirect.
    @Test func aPlaceThatARedirectNamesIsAnothers() {
        let error = TransferError(.networkConnect, "x", details: ["redirectedTo": "http://elsewhere:80"])
        #expect(HostGates.Report(AttemptFailure(error: error, disposition: .transient(after: nil))) == .answered)
    }

    @Test func onlySilenceCountsAgainstAHost() {
        let silence: Set<ErrorCode> = [.networkDNS, .networkConnect, .networkLost, .networkTimeout, .tlsFailed]
        let answers: Set<ErrorCode> = [
            .authRequired, .authFailed, .httpRedirectLimit, .httpProtocol, .validatorChanged, .integrityChecksum,
            .integrityLength, .tlsUntrusted, .httpStatus,
        ]
        for code in ErrorCode.allCases {
            let expected: HostGates.Report =
                silence.contains(code) ? .failed : answers.contains(code) ? .answered : .nothing
            #expect(report(code) == expected, "\(code)")
            #expect(report(code, progressed: true) == (silence.contains(code) ? .answered : expected), "\(code)")
            #expect(report(code, .network) == .nothing && report(code, .disk) == .nothing)
        }
    }
}
