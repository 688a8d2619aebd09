import Testing
import TransferModel
import TransferStore

@testable import DaemonKit

struct ClientTokensTests {
    private let key = SessionKey(owner: UserID(1000), identifier: "s")

    private func digest(_ text: String, session: String = "s") throws -> [UInt8] {
        try ClientTokens.digest(
            of: JSONCoding.decode(TaskSpec.self, from: Array(text.utf8)), session: session)
    }

    /// Also for the same content in another form, and in any process: the order of dictionaries differs in each.
    @Test func theSameSpecificationHasOneDigest() throws {
        let one = try digest(
            #"{"url":"https://e/f","clientToken":"t","kind":"upload","priority":0.5,"#
                + #""formFields":{"a":"1","b":"2","c":"3","d":"4"},"rateLimit":1000}"#)
        let other = try digest(
            #" { "rateLimit" : 1e3, "formFields":{"d":"4","c":"3","b":"2","a":"1"}, "priority":0.50, "#
                + #""kind":"upload", "clientToken":"t", "url":"https:\/\/e\/f", "netrc": null } "#)
        #expect(one == other)
        #expect(one.count == ClientTokenUse.digestLength)
        // The SHA-256 of `["s"]` and of the object with its names in order, computed with another tool.
        let known = try digest(#"{"url":"https://e/f","formFields":{"c":"3","b":"2","a":"1"},"clientToken":"t"}"#)
        #expect(Array(known.prefix(4)) == [132, 164, 172, 3])
    }

    @Test func everyDifferenceCounts() throws {
        let texts = [
            #"{"url":"https://e/f"}"#, #"{"url":"https://e/g"}"#, #"{"url":"https://e/f","tags":["a","b"]}"#,
            #"{"url":"https://e/f","tags":["b","a"]}"#, #"{"url":"https://e/f","password":"p"}"#,
            #"{"url":"https://e/f","formFields":{"a":"b"}}"#, #"{"url":"https://e/f","formFields":{"b":"a"}}"#,
        ]
        #expect(Set(try texts.map { try digest($0) }).count == texts.count)
        #expect(try digest(texts[0]) != digest(texts[0], session: "other"))
    }

    @Test func onlySpecificationsWithATokenCostADigest() throws {
        var with = TaskSpec()
        with.clientToken = "t"
        let tokens = try ClientTokens([TaskSpec(), with, TaskSpec()], of: key, now: Timestamp(milliseconds: 0))
        #expect(Array(tokens.digests.keys) == [1])
    }
}
