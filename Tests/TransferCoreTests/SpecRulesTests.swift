import Testing
import TransferModel

@testable import TransferCore

struct SpecRulesTests {
    private func refusal(_ change: (inout TaskSpec) -> Void) -> TransferError? {
        var spec = TaskSpec()
        spec.url = "https://example.org/f"
        return TransferCoreTests.refusal(of: spec, change)
    }

    @Test func aPlainTaskPasses() {
        #expect(refusal { _ in } == nil)
        #expect(
            refusal {
                $0.headers = [HeaderField("A", "b")]
                $0.checksum = Checksum(algorithm: .md5, value: String(repeating: "aF", count: 16))
                $0.proxy = "none"
            } == nil)
    }

    @Test func refusalsNameTheField() {
        #expect(refusal { $0.url = nil }?.details["field"] == "tasks[3].url")
        #expect(refusal { $0.url = "x" }?.code == .badURL)
        #expect(
            refusal { $0.checksum = Checksum(algorithm: .md5, value: "ab") }?.details["field"]
                == "tasks[3].checksum.value")
        #expect(refusal { $0.method = "GE T" }?.details["field"] == "tasks[3].method")
        #expect(refusal { $0.headers = [HeaderField("A", "b\n")] }?.details["field"] == "tasks[3].headers[0]")
        #expect(refusal { $0.rateLimit = -1 }?.details["field"] == "tasks[3].rateLimit")
        #expect(refusal { $0.timeoutIntervalForRequest = 0 }?.code == .badField)
        #expect(refusal { $0.caFile = "relative" }?.code == .badField)
        #expect(refusal { $0.proxy = "ftp://h" }?.code == .badField)
        #expect(refusal { $0.username = "a:b" }?.code == .badField)
    }

    @Test(arguments: [
        "none", "", "http://proxy", "http://proxy:3128/", "HTTPS://proxy:3128", "socks5://127.0.0.1:1080",
        "socks5h://user:p%40ss@[::1]:1080", "http://u:p@proxy:1",
    ])
    func proxiesAreNoneOrNameAHost(_ proxy: String) {
        #expect(refusal { $0.proxy = proxy } == nil)
    }

    @Test(arguments: [
        "ftp://h", "socks4://h", "proxy", "proxy:3128", "http:proxy", "http://", "http://:3128", "http:///x",
        "http://h:0",
        "http://h:65536", "http://h:port", "http://h:1:2", "http://::1", "http://[::1", "http://a b", "http://h\n",
        "http://h/path", "http://h?a", "http://h#a", "http://u:p%0a@h", "http://u:pa/ss@h", "None",
    ])
    func otherProxiesAreRefusedWithoutRepeatingThem(_ proxy: String) {
        let refused = refusal { $0.proxy = proxy }
        #expect(refused?.code == .badField)
        #expect(refused?.details == ["field": "tasks[3].proxy"])
        #expect(
            refused?.message
                == "tasks[3].proxy: none, or scheme://host:port with scheme http, https, socks5 or socks5h; "
                + "user:password@ before the host is percent-encoded.")
    }

    @Test(arguments: [("HEAD", false), ("trace", false), ("GET", true), ("DELETE", true), ("POST", true)])
    func somethingIsSentOrTheTaskIsRefused(_ method: String, _ takesBody: Bool) {
        let refused = refusal {
            $0.kind = .data
            $0.method = method
            $0.body = RequestBody()
            $0.body?.text = "x"
        }
        #expect(refused?.details["field"] == (takesBody ? nil : "tasks[3].body"))
    }

    @Test func destinationsAreAbsoluteFiles() {
        func destination(_ change: (inout Destination) -> Void) -> ErrorCode? {
            refusal {
                var destination = Destination()
                change(&destination)
                $0.destination = destination
            }?.code
        }
        #expect(destination { $0.path = "/a/b" } == nil)
        #expect(destination { $0.directory = "/a" } == nil)
        #expect(destination { $0.path = "/a/" } == .destinationBadPath)
        #expect(destination { $0.path = "a" } == .destinationBadPath)
        #expect(
            destination {
                $0.directory = "/a"; $0.filename = ".."
            } == .destinationBadPath)
        #expect(
            destination {
                $0.directory = "/a"; $0.filename = "b/c"
            } == .destinationBadPath)
        #expect(
            destination {
                $0.path = "/a"; $0.filename = "b"
            } == .badField)
        #expect(destination { _ in } == .badField)
    }

    @Test func schedulesAreChecked() {
        for (from, isFine) in [("22:00", true), ("24:00", false), ("7:00", false)] {
            var configuration = SessionConfiguration()
            configuration.schedule = [ScheduleWindow(from: from, to: "06:00")]
            let error = Result { () throws(TransferError) in try SpecRules(path: "").check(configuration) }
            #expect((try? error.get()) != nil ? isFine : !isFine)
        }
    }
}
