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
