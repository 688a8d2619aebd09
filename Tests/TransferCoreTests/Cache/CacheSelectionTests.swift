import Testing
import TransferModel

@testable import TransferCore

/// RFC 9111 section 4.1.
struct CacheSelectionTests {
    private func selection(_ vary: [String], _ request: [(String, String)]) -> CacheSelection? {
        CacheSelection(
            ResponseHead(url: "http://a/", status: 200, headers: vary.map { HeaderField("Vary", $0) }), fields(request))
    }

    private func fields(_ request: [(String, String)]) -> [HeaderField] { request.map { HeaderField($0.0, $0.1) } }

    /// Each row: Vary, the request that was answered, another request, and whether the answer matches it.
    @Test(
        arguments: [
            ([], [], [], true), ([], [("X", "1")], [("X", "2")], true),
            (["X"], [("X", "1")], [("x", "1")], true), (["X"], [("X", "1")], [("X", "2")], false),
            (["X"], [("X", "1")], [], false), (["X"], [], [("X", "1")], false), (["X"], [], [], true),
            (["x, Y", "Z"], [("Z", "1")], [("z", " 1 ")], true),
            (["x, Y", "Z"], [("Z", "1")], [("y", "2"), ("z", "1")], false),
            // Several lines of a field are one list. An empty field is not the same as an absent one.
            (["X"], [("X", "1"), ("X", "2")], [("X", "1, 2")], true), (["X"], [("X", "")], [], false),
            (["X"], [("X", "1: 2")], [("X", "1")], false),
            // For some requests the stored body is decoded.
            ([], [("Accept-Encoding", "gzip")], [("Accept-Encoding", "identity")], false),
        ] as [([String], [(String, String)], [(String, String)], Bool)])
    func varyChooses(_ vary: [String], _ first: [(String, String)], _ other: [(String, String)], _ matches: Bool) throws
    {
        #expect(try #require(selection(vary, first)).matches(fields(other)) == matches)
    }

    @Test func aStarMatchesNothing() {
        #expect(selection(["*"], []) == nil)
        #expect(selection(["X", "Y, *"], []) == nil)
    }

    @Test func secretsAreTold() throws {
        #expect(try #require(selection(["Cookie"], [])).namesSecrets)
        #expect(try #require(selection(["x, AUTHORIZATION"], [("Authorization", "Basic x")])).namesSecrets)
        #expect(try !#require(selection(["Accept"], [])).namesSecrets)
    }
}
