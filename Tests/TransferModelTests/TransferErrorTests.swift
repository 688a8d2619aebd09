import Foundation
import Testing
import TransferModel

struct TransferErrorTests {
    @Test func theTableHasNoHoles() {
        let names = ErrorCode.allCases.map(\.rawValue)
        #expect(Set(names).count == names.count)
        for code in ErrorCode.allCases {
            #expect(!code.summary.isEmpty)
            #expect((-32768 ... -32000).contains(code.rpcCode), "\(code.rawValue)")
            let parts = code.rawValue.split(separator: ".")
            #expect((1...2).contains(parts.count))
            #expect(code.rawValue.allSatisfy { $0.isLowercase || $0 == "_" || $0 == "." })
        }
    }

    /// Clients may go by the integer: a code keeps the one that it had in a release. A new code goes to the end, here and
    /// in `ErrorCode`.
    @Test func eachCodeKeepsItsInteger() {
        let integers: [(Int, String)] = [
            (-32_001, "request.bad_url"), (-32_002, "request.unknown_field"), (-32_003, "request.too_large"),
            (-32_004, "request.unsupported"), (-32_005, "request.token_reused"), (-32_006, "session.not_found"),
            (-32_007, "session.invalidated"), (-32_008, "session.in_use"), (-32_009, "task.not_found"),
            (-32_010, "task.wrong_state"), (-32_011, "decision.gone"), (-32_012, "permission.denied"),
            (-32_013, "destination.exists"), (-32_014, "destination.not_writable"), (-32_015, "destination.bad_path"),
            (-32_016, "source.unreadable"), (-32_017, "source.changed"), (-32_018, "disk.full"),
            (-32_019, "disk.quota"), (-32_020, "disk.io"), (-32_021, "network.dns"), (-32_022, "network.connect"),
            (-32_023, "network.lost"), (-32_024, "network.timeout"), (-32_025, "tls.untrusted"),
            (-32_026, "tls.failed"), (-32_027, "http.status"), (-32_028, "http.redirect_limit"),
            (-32_029, "http.protocol"), (-32_030, "auth.required"), (-32_031, "auth.failed"),
            (-32_032, "resume.validator_changed"), (-32_033, "integrity.checksum"), (-32_034, "integrity.length"),
            (-32_035, "deadline.exceeded"), (-32_036, "cancelled"), (-32_037, "policy.plaintext_refused"),
            (-32_038, "cache.miss"), (-32_039, "helper.failed"), (-32_040, "helper.protocol"),
            (-32_041, "limit.reached"), (-32_042, "daemon.shutting_down"), (-32_043, "state.newer"),
            (-32_044, "policy.conditions_refused"), (-32_600, "rpc.malformed"),
            (-32_601, "rpc.unknown_method"), (-32_602, "request.bad_field"), (-32_603, "internal"),
        ]
        #expect(integers.map(\.0) == integers.map(\.0).sorted(by: >) && integers.count == ErrorCode.allCases.count)
        for (integer, name) in integers { #expect(ErrorCode(rawValue: name)?.rpcCode == integer, "\(name)") }
    }

    /// docs/errors.md prints this table, and every error follows it.
    @Test(arguments: ErrorCode.allCases, [true, false])
    func retryableIsWhatTheTableSays(_ code: ErrorCode, _ wanted: Bool) {
        var error = TransferError(code, "x", retryable: wanted)
        #expect(error.retryable == (code.mayVary ? wanted : code.retryable))
        error.retryable = !wanted
        #expect(error.retryable == (code.mayVary ? !wanted : code.retryable))
        #expect(TransferError(code, "x").retryable == code.retryable)
    }

    @Test func errorsSurviveARoundTrip() throws {
        var error = TransferError(.httpStatus, "Gone.", retryable: true, details: ["status": 503, "a": [1, "b", nil]])
        #expect(!String(decoding: JSONCoding.encode(error), as: UTF8.self).contains("resumable"))
        error.resumable = true
        let again = try JSONCoding.decode(TransferError.self, from: JSONCoding.encode(error))
        #expect(again == error)
    }

    @Test func sparseErrorsAreFilledFromTheTable() throws {
        let error = try JSONCoding.decode(TransferError.self, from: Array(#"{"code": "disk.full"}"#.utf8))
        #expect(error.retryable)
        #expect(error.message == ErrorCode.diskFull.summary)
    }
}
