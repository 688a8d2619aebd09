import Testing
import TransferModel

@testable import TransferCore

struct RequestHeadersTests {
    @Test func theTaskReplacesTheSession() {
        let merged = RequestHeaders.merge(
            session: [HeaderField("X-A", "1"), HeaderField("X-B", "2")],
            task: [HeaderField("x-a", "3"), HeaderField("X-A", "4")])
        #expect(merged == [HeaderField("X-B", "2"), HeaderField("x-a", "3"), HeaderField("X-A", "4")])
    }

    @Test func rangesAndFramingAreOurs() {
        let names = ["Range", "If-Range", "Accept-Encoding", "Content-Length", "Transfer-Encoding", "Connection", "TE"]
        #expect(RequestHeaders.merge(session: [], task: names.map { HeaderField($0, "x") }).isEmpty)
    }

    @Test func aCallersWishForADigestIsKept() {
        let headers = RequestHeaders.own(beside: [HeaderField("want-repr-digest", "sha-512=1")], range: nil)
        #expect(headers == [HeaderField("Accept-Encoding", "identity")])
    }

    @Test(arguments: [("", "v"), ("a b", "v"), ("a:", "v"), ("é", "v"), ("A", "b\nc"), ("A", "b\0"), ("A", "\rb")])
    func badFieldsAreRefused(_ name: String, _ value: String) {
        let error = #expect(throws: TransferError.self) { try RequestHeaders.validate([HeaderField(name, value)]) }
        #expect(error?.code == .badField)
    }

    @Test func ordinaryFieldsPass() throws {
        try RequestHeaders.validate([HeaderField("X-Api_Key.1", "a b\tç"), HeaderField("Empty", "")])
        #expect(
            RequestHeaders.own(beside: [], range: RangeRequest(offset: 4, ifRange: "\"e\"")).suffix(2)
                == [HeaderField("Range", "bytes=4-"), HeaderField("If-Range", "\"e\"")])
    }
}
