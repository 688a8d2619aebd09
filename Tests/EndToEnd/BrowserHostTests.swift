import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Serving {
    /// `dlctl browser host` as a browser runs it, and `dlctl notify` with a real daemon.
    struct BrowserHost {
        private let scene: Scene

        init() async throws {
            scene = try await Scene()
            scene.origin.serve("/file", .status(200, [], body: "answer"))
        }

        private static func framed(_ text: [UInt8]) -> [UInt8] {
            withUnsafeBytes(of: UInt32(text.count)) { Array($0) } + text
        }

        private static func framed(_ value: JSONValue) -> [UInt8] { framed(JSONCoding.encode(value)) }

        private static func create(_ url: String, _ fields: JSONValue = [:]) -> JSONValue {
            let request: JSONValue = ["req": ["url": .string(url), "extra": ["header": fields]]]
            let text = Base64Text.encode(JSONCoding.encode(request))
            return ["method": "create", "meta": ["silent": true], "params": .string(text)]
        }

        private var environment: [String: String] {
            Program.plainEnvironment.merging([
                "HOME": scene.folder.path, "DLD_SOCKET": scene.daemon.socket,
                "XDG_STATE_HOME": scene.daemon.folder.file("xdg-state"),
                "DBUS_SESSION_BUS_ADDRESS": "unix:path=" + scene.file("no-bus"),
            ]) { $1 }
        }

        /// Runs the host with this input, and returns its status, the messages on its output, and its errors.
        private func run(
            _ host: String, _ input: [UInt8], _ more: [String: String] = [:], output: String? = nil
        ) async throws -> (status: Int32, messages: [JSONValue], error: String) {
            try Files.write(scene.file("in"), input)
            let dlctl = try Binaries.path("dlctl")
            let script = "exec '\(dlctl)' browser host --as \(host) <'\(scene.file("in"))' >'\(scene.file("out"))'"
            let (status, error) = try await Program.run(
                ["sh", "-c", output ?? script], environment: environment.merging(more) { $1 })
            var rest = ((try? Files.read(scene.file("out"))) ?? [])[...]
            var messages: [JSONValue] = []
            while rest.count >= 4 {
                let length = Int(rest.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) })
                let text = rest.dropFirst(4).prefix(length)
                #expect(text.count == length, "an answer is not whole")
                messages.append(try JSONCoding.decode(JSONValue.self, from: Array(text)))
                rest = rest.dropFirst(4 + length)
            }
            #expect(rest.isEmpty, "something else is on the output")
            return (status, messages, error)
        }

        private func tasks() async throws -> [JSONValue] {
            try await scene.probe.call("task.list", ["session": "browser"])["tasks"]?.arrayValue ?? []
        }

        private func links(_ count: Int) -> JSONValue {
            let links = (0..<count).map { number -> JSONValue in
                [
                    "url": .string(scene.origin.url("/file?\(number)")), "cookies": "sid=secret; b=2",
                    "useragent": "UA",
                    "referrer": "http://r/", "postdata": "", "filename": .string("/etc/f\(number)"),
                ]
            }
            return ["url_links": .array(links), "version": "4.0.0"]
        }

        private static let greeting: JSONValue = ["enable": true, "version": "1.85"]

        // MARK: Persepolis

        @Test(.timeLimit(.minutes(1))) func persepolisAddsAllLinksInOneCall() async throws {
            let (status, messages, error) = try await run("persepolis", Self.framed(links(1200)))
            #expect(status == 0 && messages == [Self.greeting] && error.isEmpty, "\(error)")
            let events = try await scene.probe.storedEvents(["types": ["task.added"]])
            // Those of one transaction have one time.
            #expect(events.count == 1200 && Set(events.compactMap { $0["time"] }).count == 1)
            let id = try #require(events.first?["task"]?.integerValue)
            let view = try await scene.probe.wait(for: id, "completed")
            #expect(view["session"] == "browser")
            #expect(view["file"]?.stringValue?.hasSuffix("/Downloads/f0") == true, "\(view)")
            let request = try #require(scene.origin.requests("/file").first)
            #expect(request.header("Cookie") == "sid=secret; b=2" && request.header("User-Agent") == "UA")
            #expect(request.header("Referer") == "http://r/")
            // Cookies are shown to their owner alone, when asked for.
            #expect(!"\(view)".contains("secret"))
        }

        @Test(.timeLimit(.minutes(1))) func persepolisIsAddedToThoughItClosesItsEnd() async throws {
            let pipe = scene.file("pipe")
            guard mkfifo(pipe, 0o600) == 0 else { throw SupportError("mkfifo: errno \(errno)") }
            let dlctl = try Binaries.path("dlctl")
            // The reader of 4 is gone before dlctl begins.
            let script =
                "exec 3<>'\(pipe)' 4>'\(pipe)' 3>&- && exec '\(dlctl)' browser host --as persepolis <'\(scene.file("in"))' >&4"
            let (status, _, error) = try await run("persepolis", Self.framed(links(2)), output: script)
            #expect(status == 0 && error.isEmpty, "\(status) \(error)")
            #expect(try await tasks().count == 2)
        }

        @Test(.timeLimit(.minutes(1))) func persepolisMayOnlyCheck() async throws {
            for input in [[], Self.framed(["version": "4.0.0"])] as [[UInt8]] {
                let (status, messages, error) = try await run("persepolis", input)
                #expect(status == 0 && messages == [Self.greeting] && error.isEmpty, "\(error)")
            }
            let sessions = try await scene.probe.call("session.list")["sessions"]?.arrayValue ?? []
            #expect(!sessions.contains { $0["id"] == "browser" })
        }

        @Test(
            .timeLimit(.minutes(1)),
            arguments: [[7], [9, 0, 0, 0, 1], [1, 0, 0, 0, 123], [UInt8](repeating: 255, count: 9)])
        func persepolisSaysWhatItCannotRead(_ input: [UInt8]) async throws {
            let (status, messages, error) = try await run("persepolis", input)
            #expect(
                (1...4).contains(status) && messages == [Self.greeting] && error.hasPrefix("dlctl: "),
                "\(status) \(error)")
        }

        /// One bad link or cookie does not keep others from being added.
        @Test(.timeLimit(.minutes(1))) func whatTheDaemonRefusesIsLeftOut() async throws {
            let good = scene.origin.url("/file")
            let list: JSONValue = [
                ["url": "http://a b/", "cookies": ""], ["url": .string(good), "cookies": "__Host-x=1; a=b"],
                ["url": "blob:x", "cookies": []],
            ]
            let (status, _, error) = try await run("persepolis", Self.framed(["url_links": list, "version": "4"]))
            #expect(status == 1 && error.contains("percent-encoded"), "\(error)")
            let id = try #require(try await tasks().first?["id"]?.integerValue)
            #expect(try await tasks().count == 1)
            _ = try await scene.probe.wait(for: id, "completed")
            #expect(scene.origin.requests("/file").first?.header("Cookie") == "a=b")
        }

        @Test(
            .timeLimit(.minutes(1)),
            .enabled(if: Requirements.hasMachineBus, "dbus-daemon, python3-dbus and python3-gi are not installed"))
        func persepolisNotifiesIfTheDaemonIsAway() async throws {
            let machine = try await MachineBus.started()
            try await machine.say("own notifications")
            try await scene.daemon.kill()
            let (status, messages, _) = try await run(
                "persepolis", Self.framed(links(1)), ["DBUS_SESSION_BUS_ADDRESS": machine.address])
            #expect(status == 3 && messages == [Self.greeting])
            #expect(
                machine.count { $0.hasPrefix("Notify notifications") && $0.contains("dlctl start") } == 1,
                "\(machine.lines)")
        }

        // MARK: Gopeed

        @Test(.timeLimit(.minutes(1))) func gopeedIsAnsweredInOrder() async throws {
            let fields: JSONValue = [
                "Cookie": "sid=secret", "Range": "bytes=3-", "Host": "other", "Accept-Encoding": "br", "X-A": "1",
            ]
            let input =
                Self.framed(["method": "ping"]) + Self.framed(Self.create(scene.origin.url("/file"), fields))
                + Self.framed(["method": "nonsense"]) + Self.framed(Array("nope".utf8)) + Self.framed([])
                + Self.framed([UInt8](repeating: 32, count: (4 << 20) + 1)) + Self.framed(Self.create("blob:x"))
                + Self.framed(Self.create("http://a b/")) + Self.framed(["method": "wakeup"])
                + Self.framed(["method": "create"]) + Self.framed(["method": "ping"])
            let (status, messages, error) = try await run("gopeed", input)
            #expect(status == 0 && error.isEmpty, "\(error)")
            #expect(messages.map { $0["code"]?.integerValue } == [0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 0])
            #expect(messages.first == ["code": 0, "data": true] && messages.last == messages.first)
            #expect(messages[2]["message"] == "Unknown method: nonsense")
            #expect(messages.allSatisfy { $0["code"] == 0 || $0["message"]?.stringValue?.isEmpty == false })
            let id = try #require(try await tasks().first?["id"]?.integerValue)
            _ = try await scene.probe.wait(for: id, "completed")
            let request = try #require(scene.origin.requests("/file").first)
            #expect(request.header("Cookie") == "sid=secret" && request.header("X-A") == "1")
            #expect(request.header("Range") == nil && request.header("Host") != "other")
        }

        @Test(.timeLimit(.minutes(1))) func gopeedWakesADaemonAndIsToldThatItIsAway() async throws {
            try await scene.daemon.kill()
            let away = try await run(
                "gopeed", Self.framed(["method": "ping"]) + Self.framed(Self.create(scene.origin.url("/file"))))
            #expect(away.status == 0 && away.messages.first == ["code": 0, "data": false])
            #expect(away.messages.last?["code"] == 1 && away.messages.count == 2, "\(away)")
            // One that dlctl may start: with its usual state folder, at the socket that is there by itself.
            let own = ["DLD_SOCKET": "", "XDG_STATE_HOME": scene.file("state"), "XDG_RUNTIME_DIR": ""]
            let input =
                Self.framed(["method": "wakeup"]) + Self.framed(["method": "ping"])
                + Self.framed(Self.create(scene.origin.url("/file")))
            let woken = try await run("gopeed", input, own)
            #expect(woken.messages == [["code": 0], ["code": 0, "data": true], ["code": 0]], "\(woken)")
            let probe = try await RPCProbe(scene.file("state/dld/dld.sock"))
            #expect(try await probe.call("task.list", ["session": "browser"])["tasks"]?.arrayValue?.count == 1)
            let (status, output) = try await Program.run(
                [try Binaries.path("dlctl"), "stop"], environment: environment.merging(own) { $1 })
            #expect(status == 0, "\(output)")
        }

        // MARK: Notifications

        /// A new name begins at the head, and continues there after a restart.
        @Test(
            .timeLimit(.minutes(2)),
            .enabled(if: Requirements.hasMachineBus, "dbus-daemon, python3-dbus and python3-gi are not installed"))
        func notificationsBeginNowAndGoOn() async throws {
            let machine = try await MachineBus.started()
            try await machine.say("own notifications")
            func notify() throws -> Program {
                try Program(
                    [try Binaries.path("dlctl"), "--no-start", "notify"],
                    environment: environment.merging(["DBUS_SESSION_BUS_ADDRESS": machine.address]) { $1 },
                    output: scene.file("notify.log"))
            }
            func add(_ name: String, session: String? = nil) async throws {
                let id = try await scene.add("/file", to: name, session: session)
                try await scene.probe.wait(for: id, "completed")
            }
            try await add("past")
            let first = try notify()
            // It has subscribed once its name is stored.
            #expect(try await eventually { try await scene.daemon.stores("dlctl-notify") })
            // This session tells what is acknowledged under the name.
            try await scene.probe.call(
                "session.open", ["id": "desk", "configuration": ["subscriber": "dlctl-notify"]])
            try await add("one", session: "desk")
            #expect(await machine.hears("Notify notifications"))
            #expect(
                try await eventually {
                    try await scene.probe.call("session.get", ["id": "desk"])["unacknowledgedEvents"] == 0
                })
            try await first.killNow()
            try await add("two")
            let second = try notify()
            #expect(await machine.hears("Notify notifications", times: 2))
            let notes = machine.lines.filter { $0.hasPrefix("Notify") }
            #expect(notes.count == 2 && notes[0].contains("Done: one") && notes[1].contains("Done: two"), "\(notes)")
            try await second.killNow()
        }
    }
}
