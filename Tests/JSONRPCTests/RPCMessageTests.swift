import JSONRPC
import Testing
import TransferModel

struct RPCMessageTests {
    private func only(_ text: String) throws -> RPCLine.Entry {
        let line = try RPCLine(Array(text.utf8), batchLimit: 10)
        return try #require(line.entries.first)
    }

    private func message(_ text: String) throws -> String {
        guard case .invalid(_, let error) = try only(text) else { return "" }
        return error.message
    }

    @Test func readsARequest() throws {
        let entry = try only("{\"params\":{\"a\":1},\"method\":\"a.b\",\"id\":5,\"jsonrpc\":\"2.0\",\"more\":[]}")
        #expect(
            entry == .request(RPCRequest(id: Array("5".utf8), method: "a.b", parameters: Array("{\"a\":1}".utf8))))
    }

    @Test func readsEscapedNames() throws {
        let entry = try only("{\"jsonrpc\":\"2.0\",\"m\\u0065thod\":\"a\\u002eb\",\"id\":\"\\u0031\"}")
        #expect(entry == .request(RPCRequest(id: Array("\"\\u0031\"".utf8), method: "a.b", parameters: nil)))
    }

    @Test(arguments: ["1.5", "1e3", "true", "[1]", "{}"])
    func refusesOtherIDs(_ id: String) throws {
        let text = try message("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"a\"}")
        #expect(text.contains("`id`"))
    }

    @Test func refusesLongIDs() throws {
        let id = String(repeating: "x", count: 2000)
        #expect(try message("{\"jsonrpc\":\"2.0\",\"id\":\"\(id)\",\"method\":\"a\"}").contains("1024"))
    }

    @Test func saysWhatIsMissing() throws {
        #expect(try message("{\"id\":1,\"method\":\"a\"}").contains("`jsonrpc`"))
        #expect(try message("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a\"}").contains("`jsonrpc`"))
        #expect(try message("{\"jsonrpc\":\"2.0\",\"id\":1}").contains("`method`"))
        #expect(try message("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":2}").contains("`method`"))
        #expect(try message("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":3}").contains("`params`"))
        #expect(try message("[[]]").contains("objects only"))
        #expect(throws: RPCError.self) { try RPCLine(Array("3".utf8), batchLimit: 10) }
    }

    @Test func writesErrorsThatCanBeRead() throws {
        let error = RPCError(code: -1, message: "\u{0}\"\\é\n", cause: "a.b")
        let text = RPCText.answer(id: nil, error: error)
        let root = try JSONTape(text).root
        #expect(try root.members().map(\.name.stringIfAny) == ["jsonrpc", "id", "error"])
        #expect(root.member("error")?.member("message")?.stringIfAny == error.message)
    }
}
