import Testing

/// Clocks are read only where docs/time.md says so, and passed on as arguments. Code that reads a clock elsewhere
/// cannot be tested with another clock.
@Suite struct ClockTests {
    /// The files that may read the wall clock, and the reasons.
    private static let wallClock: [String: String] = [
        "Sources/TransferModel/Timestamp.swift": "the one place that asks",
        "Sources/DaemonSetup/TimeSource.swift": "what supervision is handed",
        "Sources/DaemonKit/Events/EventFeed.swift": "progress events, which nobody stores",
        "Sources/DaemonKit/Events/Subscription.swift": "events.lagged, likewise",
        "Sources/CurlEngine/Network/Transfer+Metrics.swift": "when an exchange began, which is only told",
        "Sources/TransferStore/StoreOpening.swift": "when a store was made, for people",
        "Sources/dld-web/Routes/Site.swift": "the age of sessions, which are days",
        "Sources/dld-web/Routes/WebMetrics.swift": "when the program started",
        "Sources/dld-web/Setup/ControlSocket.swift": "when a link ends, for people",
        "Sources/dld-web/Daemon/EventStream.swift": "the time of the server, for the page",
    ]

    /// The files that read another clock of the kernel.
    private static let otherClocks: Set<String> = [
        "Sources/CLinux/events.c", "Sources/DaemonSetup/TimeSource.swift",
        "Sources/DaemonSetup/Systemd/Notifier.swift", "Sources/Threading/ConditionLock.swift",
    ]

    @Test func theWallClockIsReadInFewPlaces() throws {
        let pattern =
            #/
            (?:Timestamp|[(\s:])\.now\(\) | \bDate\(\) | Date\.now | gettimeofday | CLOCK_REALTIME | \btime\((?:nil|NULL|0)
            /#
        var found: Set<String> = []
        // Clients show times to people, and take their dates from them.
        for file in sources()
        where !file.hasPrefix("Sources/dlctl/") && !file.hasPrefix("Sources/TransferNetworking/") {
            let lines = try Checkout.text(file).lines(
                with: "now()", "Date()", "Date.now", "gettimeofday", "CLOCK_REALTIME", "time(")
            guard lines.contains(pattern) else { continue }
            found.insert(file)
            #expect(Self.wallClock[file] != nil, "\(file) reads the wall clock: take a TimeSource or a reading")
        }
        #expect(found == Set(Self.wallClock.keys), "the list above names files that do not")
    }

    @Test func otherClocksToo() throws {
        for file in sources() where try Checkout.text(file).contains("clock_gettime(") {
            #expect(Self.otherClocks.contains(file), "\(file) reads a clock: take a TimeSource or a reading")
        }
    }

    /// A clock that stands still while the machine sleeps would make deadlines late.
    @Test func noClockStandsWhileTheMachineSleeps() throws {
        for file in sources() { #expect(try !Checkout.text(file).contains("Suspending" + "Clock"), "\(file)") }
    }

    private func sources() -> [String] {
        ["swift", "c", "h"].flatMap { Checkout.files(below: "Sources", suffix: ".\($0)") }
    }
}
