import Testing
import TransferModel

@testable import TransferCore

struct MirrorJudgeTests {
    private let judge = MirrorJudge(offset: 100, total: 1000, digests: ["sha-256": "ab"], now: reading().wall)

    private func fields(_ change: KeyValuePairs<String, String?> = [:]) -> [HeaderField] {
        var fields = ["ETag": "\"m\"", "Content-Range": "bytes 100-199/1000", "Content-Length": "100"]
        for (name, value) in change { fields[name] = value }
        return fields.map { HeaderField($0.key, $0.value) }
    }

    private func verdict(_ status: Int, _ change: KeyValuePairs<String, String?> = [:]) -> Verdict {
        judge.judge(ResponseHead(url: "https://m/f", status: status, headers: fields(change)))
    }

    @Test func aPartOfTheSameLengthIsTakenWithItsOwnValidator() {
        guard case .accept(let acceptance) = verdict(206) else {
            Issue.record("refused")
            return
        }
        #expect(acceptance.offset == 100 && acceptance.expected == 100 && !acceptance.truncate)
        #expect(acceptance.validators.etag == "\"m\"")
    }

    @Test(
        arguments: [
            (206, ["ETag": nil]), (206, ["ETag": "W/\"m\""]), (206, ["Content-Range": "bytes 100-199/1001"]),
            (206, ["Content-Range": "bytes 100-199/*"]), (206, ["Content-Range": "bytes 99-198/1000"]),
            (206, ["Content-Range": nil]), (206, ["Content-Encoding": "gzip"]),
            (206, ["Repr-Digest": "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"]),
            (200, ["Content-Range": nil, "Content-Length": "1000"]), (416, ["Content-Range": "bytes */1000"]),
        ] as [(Int, KeyValuePairs<String, String?>)])
    func nothingElseIsMixedIn(_ status: Int, _ change: KeyValuePairs<String, String?>) {
        guard case .stop(.failure(let error, _)) = verdict(status, change) else {
            Issue.record("\(change) was taken")
            return
        }
        #expect(error.code == .httpProtocol && !error.retryable)
    }

    @Test func anErrorStatusIsJudgedAsAnywhere() {
        guard case .stop(.failure(let error, let retryAfter)) = verdict(503, ["Retry-After": "7"]) else {
            Issue.record("taken")
            return
        }
        #expect(error.code == .httpStatus && error.retryable && retryAfter == 7)
    }
}
