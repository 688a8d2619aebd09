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

    @Test func whatIsReadForEachTaskHasABound() {
        func headers(_ count: Int, _ length: Int) -> [HeaderField] {
            Array(repeating: HeaderField("A", String(repeating: "b", count: length - 1)), count: count)
        }
        #expect(refusal { $0.headers = headers(100, 655) } == nil)
        #expect(refusal { $0.headers = headers(101, 2) }?.details["field"] == "tasks[3].headers")
        #expect(refusal { $0.headers = headers(2, 32_769) }?.details["field"] == "tasks[3].headers")
        #expect(
            refusal { $0.bearer = String(repeating: "b", count: 8193) }?.details["field"] == "tasks[3].bearer")
        #expect(refusal { $0.method = String(repeating: "M", count: 65) }?.details["field"] == "tasks[3].method")
        var configuration = SessionConfiguration()
        configuration.schedule = Array(repeating: ScheduleWindow(begin: "01:00", end: "02:00"), count: 64)
        #expect(refusal(of: configuration) == nil)
        configuration.schedule?.append(ScheduleWindow(begin: "01:00", end: "02:00"))
        #expect(refusal(of: configuration)?.details["field"] == "configuration.schedule")
        configuration = SessionConfiguration()
        configuration.httpAdditionalHeaders = headers(101, 2)
        #expect(refusal(of: configuration)?.details["field"] == "configuration.httpAdditionalHeaders")
    }

    @Test func attributesHaveNamesAndABound() {
        let most = ["a": "", "é": String(repeating: "v", count: 4093)]
        for good in [[:], ["name": ""], most] { #expect(refusal { $0.attributes = good } == nil) }
        for bad in [["": "value"], most.merging(["a": "x"]) { $1 }, most.merging(["b": ""]) { $1 }] {
            let refusal = refusal { $0.attributes = bad }
            #expect(refusal?.code == .badField && refusal?.details["field"] == "tasks[3].attributes")
        }
    }

    private func refusal(of configuration: SessionConfiguration) -> TransferError? {
        do throws(TransferError) {
            try SpecRules(path: "configuration").check(configuration)
            return nil
        } catch {
            return error
        }
    }

    @Test func refusalsNameTheField() {
        #expect(refusal { $0.url = nil }?.details["field"] == "tasks[3].url")
        #expect(refusal { $0.url = "x" }?.code == .badURL)
        #expect(
            refusal { $0.checksum = Checksum(algorithm: .md5, value: "ab") }?.details["field"]
                == "tasks[3].checksum.value")
        #expect(refusal { $0.method = "GE T" }?.details["field"] == "tasks[3].method")
        for byte in 0...127 as ClosedRange<UInt8> where byte != 9 && byte < 32 || byte == 127 {
            let value = "b" + String(UnicodeScalar(byte))
            #expect(refusal { $0.headers = [HeaderField("A", value)] }?.details["field"] == "tasks[3].headers[0]")
        }
        #expect(refusal { $0.headers = [HeaderField("A", "b\tc é")] } == nil)
        #expect(refusal { $0.rateLimit = -1 }?.details["field"] == "tasks[3].rateLimit")
        #expect(refusal { $0.timeoutIntervalForRequest = 0 }?.code == .badField)
        #expect(refusal { $0.caFile = "relative" }?.code == .badField)
        #expect(refusal { $0.proxy = "ftp://h" }?.code == .badField)
        #expect(refusal { $0.username = "a:b" }?.code == .badField)
    }

    @Test func credentialsAreSaidInOneWay() {
        func field(_ change: (inout TaskSpec) -> Void) -> JSONValue? { refusal(change)?.details["field"] }
        #expect(field { $0.password = "p" } == "tasks[3].password")
        #expect(field { ($0.username, $0.password) = ("u", "p") } == nil)
        #expect(field { ($0.url, $0.password) = ("https://u@example.org/f", "p") } == nil)
        #expect(field { ($0.username, $0.bearer) = ("u", "t") } == "tasks[3].username")
        let header = [HeaderField("authorization", "Basic x")]
        #expect(field { ($0.bearer, $0.headers) = ("t", header) } == "tasks[3].bearer")
        #expect(field { $0.headers = header } == nil)
    }

    @Test(arguments: ["Range", "if-range", "Content-Length", "Transfer-Encoding", "Accept-Encoding", "Connection"])
    func headersOfItsOwnAreRefused(_ name: String) throws {
        let headers = [HeaderField("Host", "h"), HeaderField(name, "x")]
        let refused = refusal { $0.headers = headers }
        #expect(refused?.code == .badField && refused?.details["field"] == "tasks[3].headers[1]")
        #expect(refused?.message.contains("dld sets \(name) itself") == true)
        var session = SessionConfiguration()
        session.httpAdditionalHeaders = headers
        let error = #expect(throws: TransferError.self) { try SpecRules(path: "c").check(session) }
        #expect(error?.details["field"] == "c.httpAdditionalHeaders[1]")
        // A data task may send these fields.
        let isFraming = !["Range", "if-range", "Accept-Encoding"].contains(name)
        #expect((refusal { ($0.kind, $0.headers) = (.data, headers) } != nil) == isFraming)
    }

    @Test func timesThatContradictAreRefused() {
        var retry = RetryPolicySpec()
        (retry.firstDelay, retry.longestDelay) = (10, 1)
        let wrong = retry
        #expect(refusal { $0.retry = wrong }?.details["field"] == "tasks[3].retry.firstDelay")
        (retry.firstDelay, retry.longestDelay) = (10, 10)
        let right = retry
        #expect(refusal { $0.retry = right } == nil)
        let (early, late) = (Timestamp(milliseconds: 1000), Timestamp(milliseconds: 2000))
        #expect(
            refusal { ($0.earliestBeginAt, $0.deadlineAt) = (late, early) }?.details["field"]
                == "tasks[3].earliestBeginAt")
        #expect(refusal { ($0.earliestBeginAt, $0.deadlineAt) = (early, late) } == nil)
    }

    @Test func launchUnitsHaveTheirWholeNames() {
        func refused(_ unit: String) -> JSONValue? {
            var session = SessionConfiguration()
            session.launch = LaunchSpec()
            session.launch?.unit = unit
            do {
                try SpecRules(path: "").check(session)
                return nil
            } catch {
                return error.details["field"]
            }
        }
        #expect(refused("app") == "launch.unit" && refused("app.conf") == "launch.unit")
        #expect(refused("app@1.service") == nil && refused("app.target") == nil)
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

    @Test func interfacesAreChecked() {
        #expect(refusal { $0.interface = "eth0" } == nil)
        #expect(refusal { $0.interface = "eth0/1" }?.details["field"] == "tasks[3].interface")
        var configuration = SessionConfiguration()
        configuration.interface = "host!192.0.2.7"
        #expect(refusal(of: configuration)?.details["field"] == "configuration.interface")
    }

    @Test(
        arguments: [
            (["video/*"], ["*.iso"], "/d", nil), (nil, nil, "/d", nil), (["video"], nil, "/d", "types"),
            ([], nil, "/d", "types"), (["a/b/c"], nil, "/d", "types"), (nil, ["a/b"], "/d", "names"),
            (nil, [""], "/d", "names"),
            (nil, nil, "d", "directory"),
        ] as [([String]?, [String]?, String, String?)])
    func directoriesAreChecked(types: [String]?, names: [String]?, directory: String, fault: String?) {
        var rule = DirectoryRule(directory: directory)
        (rule.types, rule.names) = (types, names)
        var configuration = SessionConfiguration()
        configuration.directories = [DirectoryRule(directory: "/a"), rule]
        let field = fault.map { JSONValue.string("configuration.directories[1].\($0)") }
        #expect(refusal(of: configuration)?.details["field"] == field)
    }

    @Test func ratesOfWindowsAreChecked() {
        var configuration = SessionConfiguration()
        configuration.schedule = [ScheduleWindow(begin: "22:00", end: "06:00")]
        configuration.schedule?[0].downloadRateLimit = 0
        #expect(refusal(of: configuration) == nil)
        configuration.schedule?[0].uploadRateLimit = -1
        #expect(refusal(of: configuration)?.details["field"] == "configuration.schedule[0].uploadRateLimit")
    }

    @Test func schedulesAreChecked() {
        for (from, isFine) in [("22:00", true), ("24:00", false), ("7:00", false)] {
            var configuration = SessionConfiguration()
            configuration.schedule = [ScheduleWindow(begin: from, end: "06:00")]
            let error = Result { () throws(TransferError) in try SpecRules(path: "").check(configuration) }
            #expect((try? error.get()) != nil ? isFine : !isFine)
        }
    }
}
