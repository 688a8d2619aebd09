import Testing

/// Clocks are read where docs/time.md says so, and handed on as arguments: what reads one elsewhere cannot be tested
/// with another.
@Suite struct ClockTests {
    /// Files that may ask for the wall clock, and what for.
    private static let wallClock: [String: String] = [
        "Sources/TransferModel/Timestamp.swift": "the one place that asks",
        "Sources/DaemonSetup/TimeSource.swift": "what supervision is handed",
        "Sources/DaemonKit/Events/EventFeed.swift": "progress events, which nobody stores",
        "Sources/DaemonKit/Events/Subscription.swift": "events.lagged, likewise",
        "Sources/CurlEngine/Network/Transfer+Metrics.swift": "when an exchange began, which is only told",
        "Sources/TransferStore/StoreOpening.swift": "when a store was made, for people",
    ]

    /// Files that ask the kernel for another one.
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
        for file in sources() where !file.hasPrefix("Sources/dlctl/") {
            guard try Checkout.text(file).contains(pattern) else { continue }
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

    /// The one that stands while the machine sleeps would let deadlines pass late.
    @Test func noClockStandsWhileTheMachineSleeps() throws {
        for file in sources() { #expect(try !Checkout.text(file).contains("Suspending" + "Clock"), "\(file)") }
    }

    private func sources() -> [String] {
        ["swift", "c", "h"].flatMap { Checkout.files(below: "Sources", suffix: ".\($0)") }
    }
}
