import Testing
import TransferModel

@testable import TransferCore

/// Lines of helpers in the form of docs/helpers.md.
struct HelperMessageTests {
    private func read(_ text: String) throws(HelperViolation) -> HelperMessage { try HelperMessage(Array(text.utf8)) }

    private func refusal(_ text: String) -> HelperViolation? {
        do {
            _ = try read(text)
            return nil
        } catch {
            return error
        }
    }

    @Test func everyLineIsRead() throws {
        let hello = HelperHello(resumes: true, uploads: false, servesMany: true)
        #expect(
            try read(#"{"type":"hello","version":1,"resume":true,"upload":false,"many":true,"x":1}"#) == .hello(hello))
        #expect(
            try read(#"{"version":1,"type":"hello"}"#)
                == .hello(HelperHello(resumes: false, uploads: false, servesMany: false)))
        let lines: [(String, HelperMessage.Content)] = [
            (#"{"type":"data","id":1,"base64":"AAEC"}"#, .data([0, 1, 2])),
            (#"{"type":"wrote","id":1,"offset":7}"#, .wrote(7)), (#"{"type":"finished","id":1}"#, .finished),
            (#"{"type":"redirect","id":1,"url":"https://a/"}"#, .redirect("https://a/")),
            (
                #"{"type":"failed","id":1,"code":"c","message":"m","retryable":true}"#,
                .failed(code: "c", message: "m", isRetryable: true)
            ),
            (
                #"{"type":"challenge","id":1,"protectionSpace":{"realm":"r","method":"httpDigest"}}"#,
                .challenge(realm: "r", .httpDigest)
            ),
            (#"{"type":"challenge","id":1}"#, .challenge(realm: nil, .httpBasic)),
            (
                #"{"type":"response","id":1,"offset":5,"status":200,"length":9,"validator":"v","suggestedFilename":"n","headers":{"B":"2","A":"1"}}"#,
                .response(
                    HelperResponse(
                        offset: 5, status: 200, headers: [HeaderField("A", "1"), HeaderField("B", "2")], length: 9,
                        validator: "v", suggestedFilename: "n"))
            ),
            (
                #"{"type":"response","id":1,"offset":0,"length":null,"headers":[["A","1"],["A","2"]]}"#,
                .response(HelperResponse(offset: 0, headers: [HeaderField("A", "1"), HeaderField("A", "2")]))
            ),
        ]
        for (line, content) in lines { #expect(try read(line) == .request(1, content), "\(line)") }
    }

    @Test(arguments: [
        "", "x", "[]", "{}", #"{"type":1}"#, #"{"type":"hello"}"#, #"{"type":"hello","version":2}"#,
        #"{"type":"hello","version":1,"many":"yes"}"#, #"{"type":"data","base64":"AA=="}"#,
        #"{"type":"data","id":"1","base64":"AA=="}"#, #"{"type":"finished","id":1.5}"#,
    ])
    func linesThatNameNoRequest(_ line: String) { #expect(refusal(line).map { $0.id == nil } == true) }

    @Test(arguments: [
        #"{"type":"dance","id":1}"#, #"{"type":"data","id":1}"#, #"{"type":"data","id":1,"base64":"!"}"#,
        #"{"type":"wrote","id":1,"offset":-1}"#, #"{"type":"wrote","id":1}"#, #"{"type":"redirect","id":1}"#,
        #"{"type":"response","id":1,"offset":0,"status":99}"#, #"{"type":"response","id":1,"offset":0,"length":-1}"#,
        #"{"type":"response","id":1}"#, #"{"type":"response","id":1,"offset":null,"length":9,"validator":"v"}"#,
        #"{"type":"response","id":1,"offset":0,"headers":[["A"]]}"#,
        #"{"type":"response","id":1,"offset":0,"headers":{"A":1}}"#,
        #"{"type":"response","id":1,"offset":0,"headers":{"A":"a\r\nB: c"}}"#,
        #"{"type":"response","id":1,"offset":0,"headers":{"A b":"c"}}"#,
        #"{"type":"challenge","id":1,"protectionSpace":{"method":"serverTrust"}}"#,
        #"{"type":"failed","id":1,"retryable":"no"}"#,
    ])
    func linesThatAreWrongOfOneRequest(_ line: String) { #expect(refusal(line)?.id == 1, "\(line)") }

    @Test(arguments: [
        (#""x""#, "protectionSpace"), ("[]", "protectionSpace"), (#"{"realm":7}"#, "realm"),
        (#"{"realm":["r"]}"#, "realm"), (#"{"method":true}"#, "method"), (#"{"method":"ntlm"}"#, "method"),
        (#"{"method":"bearer"}"#, "method"), (#"{"method":""}"#, "method"),
    ])
    func aChallengeThatIsNoneNamesTheMember(_ space: String, member: String) {
        let violation = refusal(#"{"type":"challenge","id":1,"protectionSpace":\#(space)}"#)
        #expect(violation?.id == 1 && violation?.reason.contains(member) == true, "\(String(describing: violation))")
    }

    @Test func membersOfAChallengeMayBeNull() throws {
        for space in ["null", "{}", #"{"realm":null,"method":null}"#] {
            let line = #"{"type":"challenge","id":1,"protectionSpace":\#(space)}"#
            #expect(try read(line) == .request(1, .challenge(realm: nil, .httpBasic)), "\(space)")
        }
    }

    @Test func whatIsNotUTF8IsRefused() {
        #expect(throws: HelperViolation.self) { try HelperMessage([0x7b, 0xff, 0x7d]) }
    }
}
