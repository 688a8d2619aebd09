import Testing
import TransferModel

@testable import TransferCore

struct UploadRequestTests {
    @Test func sessionHeadersComeAlongAndFramingDoesNot() throws {
        var prepared = uploadRequest("put") {
            $0.headers = [
                HeaderField("Content-Length", "1"), HeaderField("X-Task", "t"), HeaderField("Tus-Resumable", "0"),
            ]
        }
        prepared.sessionHeaders = [HeaderField("X-Session", "s"), HeaderField("x-task", "hidden")]
        let exchange = try Stepper(prepared).exchange
        #expect(exchange.header("X-Session") == "s")
        #expect(exchange.headers.filter { $0.name.lowercased() == "x-task" }.map(\.value) == ["t"])
        #expect(exchange.header("Content-Length") == nil)
        #expect(exchange.header("Tus-Resumable") == nil)
        #expect(exchange.header("Accept-Encoding") == "identity")
    }

    @Test func theFileIsCheckedAgainstTheBegunUpload() throws {
        for change in [
            { $0.size = 99 }, { $0.inode = 9 }, { $0.device = 9 }, { $0.modified = 9 },
        ] as [(inout SourceIdentity) -> Void] {
            var prepared = uploadRequest("tus", stored: begun(.tus, at: "https://example.org/files/1"))
            var now = identity()
            change(&now)
            prepared.source = now
            let error = #expect(throws: TransferError.self) { try Stepper(prepared) }
            #expect(error?.code == .sourceChanged)
        }
    }

    @Test func hostileHeadersAreRefused() {
        #expect(throws: TransferError.self) {
            try Stepper(uploadRequest("put") { $0.headers = [HeaderField("A", "b\r\nC: d")] })
        }
    }

    @Test func anAuthorizationHeaderComesFirst() throws {
        var prepared = uploadRequest("put") { $0.headers = [HeaderField("Authorization", "Custom x")] }
        prepared.network.bearer = "t"
        let exchange = try Stepper(prepared).exchange
        #expect(exchange.network.bearer == nil)
        #expect(exchange.header("Authorization") == "Custom x")
    }

    @Test func anotherURLIsAnotherUpload() throws {
        for (kind, url) in [("tus", "https://example.org/files"), (nil, "ftp://example.org/pub/f")] {
            var subject = try Stepper(uploadRequest(kind, url: url))
            subject.after(kind == nil ? lost(78) : answer(201, ["Location": "/files/1"]))
            let stored = try #require(subject.step.stored)
            for (now, continues) in [(url, true), (url + "?token=2", true), (url + "2", false)] {
                var next = try Stepper(uploadRequest(kind, url: now, stored: stored))
                if kind == nil {
                    next.after(
                        ExchangeOutcome(
                            end: .finished, head: ResponseHead(url: now, size: 40, modificationTime: 9)))
                    #expect(try next.exchange.startOffset == (continues ? 40 : 0))
                } else {
                    #expect(try next.exchange.method == (continues ? "HEAD" : "POST"))
                }
            }
        }
    }
}
