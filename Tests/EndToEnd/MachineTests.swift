import TestSupport
import Testing
import TransferModel

extension EndToEnd.Scheduling {
    /// What NetworkManager, UPower and logind say on the system bus, and what becomes of transfers.
    @Suite(.enabled(if: Requirements.hasMachineBus, "dbus-daemon, python3-dbus and python3-gi are not installed"))
    struct Machine {
        let machine: MachineBus
        let resource = Resource.version(1, size: 32 << 20)

        init() async throws { machine = try await .started() }

        /// A daemon on this bus with these services, and an origin that is slow at first.
        private func scene(_ services: String...) async throws -> Scene {
            for service in services { try await machine.say("own \(service)") }
            let scene = try await Scene(environment: machine.environment)
            scene.origin.serve("/file", .good(resource, rate: 2 << 20), .good(resource))
            return scene
        }

        /// Begins a download, and returns when some of it has arrived.
        private func begin(_ scene: Scene, _ rule: [String: JSONValue] = [:]) async throws -> Int64 {
            let id = try await scene.add("/file", to: "file", rule)
            try await scene.probe.wait(for: id, bytes: 1 << 20)
            return id
        }

        /// The download has gone on where it was, with one more request.
        private func completes(_ id: Int64, _ scene: Scene) async throws {
            try await scene.probe.wait(for: id, "completed")
            #expect(resource.content.matches(scene.file()))
            let requests = scene.origin.requests("/file")
            #expect(requests.count == 2 && (requests.last?.rangeStart ?? 0) >= 1 << 20, "\(requests)")
        }

        struct Rule: Sendable, CustomTestStringConvertible {
            let property: String
            let forbids: String
            let allows: String
            let members: [String: JSONValue]
            let reason: JSONValue
            var testDescription: String { "\(property) \(forbids): \(members.keys.sorted())" }

            init(
                _ property: String, _ forbids: String, _ allows: String, _ members: [String: JSONValue],
                _ reason: JSONValue
            ) {
                (self.property, self.forbids, self.allows) = (property, forbids, allows)
                (self.members, self.reason) = (members, reason)
            }

            static let all = [
                Rule("network Metered u", "1", "2", ["allowsExpensiveNetworkAccess": false], "metered"),
                Rule("network Metered u", "3", "4", ["allowsExpensiveNetworkAccess": false], "metered"),
                Rule(
                    "network PrimaryConnectionType s", "gsm", "802-11-wireless", ["allowsCellularAccess": false],
                    "metered"),
                Rule("network Connectivity u", "2", "4", [:], "portal"),
                Rule("power OnBattery b", "true", "false", ["isDiscretionary": true], "power"),
                Rule("network Metered u", "1", "2", ["isDiscretionary": true], "power"),
            ]
        }

        @Test(.timeLimit(.minutes(2)), arguments: Rule.all)
        func aRunningTaskWaitsAndGoesOn(_ rule: Rule) async throws {
            try await machine.say("set \(rule.property) \(rule.allows)")
            let scene = try await scene("network", "power")
            let id = try await begin(scene, rule.members)
            try await machine.say("set \(rule.property) \(rule.forbids)")
            let task = try await scene.probe.wait(for: id, "waiting")
            #expect(task["reason"] == rule.reason, "\(task)")
            // Stopped at its checkpoint, and not tried meanwhile.
            #expect((task["bytesReceived"]?.integerValue ?? 0) >= 1 << 20)
            for _ in 0..<100 { #expect(try await scene.probe.state(id) == "waiting") }
            #expect(scene.origin.requests("/file").count == 1)
            try await machine.say("set \(rule.property) \(rule.allows)")
            try await completes(id, scene)
        }

        /// Unknown forbids nothing.
        @Test(.timeLimit(.minutes(2)), arguments: [true, false])
        func aTaskGoesOnIfTheServiceOrTheBusIsGone(isService: Bool) async throws {
            let scene = try await scene("network")
            let id = try await begin(scene, ["allowsExpensiveNetworkAccess": false])
            try await machine.say("set network Metered u 1")
            try await scene.probe.wait(for: id, "waiting")
            if isService { try await machine.say("drop network") } else { try await machine.kill() }
            try await completes(id, scene)
            // And waits again when it has returned.
            if !isService { try await machine.start() }
            try await machine.say("set network Metered u 1")
            try await machine.say("own network")
            scene.origin.serve("/again", .good(.version(2, size: 100_000)))
            #expect(
                try await eventually {
                    try await scene.probe.call("daemon.stats")["isMetered"] == true
                })
            let again = try await scene.add("/again", to: "again", ["allowsExpensiveNetworkAccess": false])
            #expect(try await scene.probe.wait(for: again, "waiting")["reason"] == "metered")
            #expect(scene.origin.requests("/again").isEmpty)
        }

        /// The first conditions are known before the first task begins.
        @Test(.timeLimit(.minutes(2))) func aDaemonThatStartsAsksFirst() async throws {
            var scene = try await scene("network")
            let id = try await begin(scene, ["allowsExpensiveNetworkAccess": false])
            try await machine.say("set network Metered u 1")
            try await scene.probe.wait(for: id, "waiting")
            scene = try await scene.restarted()
            for _ in 0..<100 { #expect(try await scene.probe.state(id) == "waiting") }
            #expect(scene.origin.requests("/file").count == 1)
            try await machine.say("set network Metered u 2")
            try await completes(id, scene)
        }

        @Test(.timeLimit(.minutes(1))) func servicesThatNeverAnswerHoldUpNothing() async throws {
            for service in ["network", "power", "login"] { try await machine.say("answers \(service) never") }
            let scene = try await scene("network", "power", "login")
            scene.origin.serve("/short", .good(.version(2, size: 100_000)))
            let id = try await scene.add("/short", to: "short", ["allowsExpensiveNetworkAccess": false])
            try await scene.probe.wait(for: id, "completed")
        }

        // MARK: Sleep

        /// - Parameter isKilled: the daemon dies while the machine sleeps.
        @Test(.timeLimit(.minutes(2)), arguments: [false, true])
        func theMachineSleepsWhenTasksAreStored(isKilled: Bool) async throws {
            var scene = try await scene("login")
            scene.origin.serve("/other", .good(.version(2, size: 100_000)))
            #expect(await machine.hears("Inhibit login sleep dld"))
            let id = try await begin(scene)
            try await machine.say("emit login PrepareForSleep b true")
            #expect(await machine.hears("released sleep delay"))
            let stored = try await scene.probe.task(id)["bytesReceived"]?.integerValue ?? 0
            #expect(stored >= 1 << 20)
            let other = try await scene.add("/other", to: "other")
            for _ in 0..<100 { #expect(try await scene.probe.state(other) == "queued") }
            #expect(scene.origin.requests("/file").count == 1)
            if isKilled {
                scene = try await scene.restarted()
            } else {
                try await machine.say("emit login PrepareForSleep b false")
                #expect(await machine.hears("Inhibit login sleep dld", times: 2))
            }
            try await completes(id, scene)
            try await scene.probe.wait(for: other, "completed")
            let requests = scene.origin.requests("/file")
            // Nothing that was stored is fetched again, and no connection is used again.
            #expect(Int64(requests.last?.rangeStart ?? 0) >= stored, "\(requests) \(stored)")
            #expect(requests.first?.request.connection != requests.last?.request.connection)
        }

        @Test(.timeLimit(.minutes(2))) func theMachineIsKeptAwakeWhileTasksRun() async throws {
            let scene = try await scene("login")
            let id = try await begin(scene)
            let block = "Inhibit login idle:sleep dld dld transfers files block"
            #expect(machine.count { $0.hasPrefix(block) } == 0)
            try await scene.probe.call("settings.set", ["keepsAwake": true])
            #expect(await machine.hears(block))
            try await scene.probe.control("pause", id)
            #expect(await machine.hears("released idle:sleep block"))
            try await scene.probe.control("resume", id)
            #expect(await machine.hears(block, times: 2))
            try await completes(id, scene)
            #expect(await machine.hears("released idle:sleep block", times: 2))
        }
    }
}
