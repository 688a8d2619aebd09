import CSimulation
import CurlEngine
import DaemonKit
import FileKit
import Glibc
import TestSupport
import TransferModel
import TransferStore

/// The world of one seed: a daemon, its network, its disk and its clients, on virtual time, advanced step by step.
final class World: @unchecked Sendable {
    let folder: String
    let plant: Plant?
    private let steps: Int
    private(set) var hazards: Set<Hazard>
    var random: SeededGenerator
    var resources: [Resource] = []
    private(set) var daemon: SimulatedDaemon?
    private(set) var isCalm = false
    private var calmSince: Int64?
    /// Some servers are slow, and some URLs of others fail. This lasts for a while after everything else is calm, so
    /// that tasks that wait for slots have the time to show it.
    var hasBadServers: Bool { calmSince.map { sim_now() < $0 + Self.badServersLast } ?? true }
    private static let badServersLast: Int64 = 1_200_000_000_000
    /// Everything has come to its end.
    private(set) var hasSettled = false
    private(set) lazy var client = Client(self)
    private(set) lazy var programs = SimulatedPrograms(self)
    /// The wall clock jumped at some time.
    private(set) var hasShiftedClock = false
    /// How far the wall clock is set ahead, and the furthest that it ever was, in nanoseconds.
    private var (wallAhead, furthestAhead): (Int64, Int64) = (0, 0)
    private(set) lazy var server = UploadServer(self)
    private(set) lazy var tls = TLSServers(self)
    private(set) lazy var ledger = EventLedger(retention: random.chance(300) ? 10 + random.below(60) : nil)
    private(set) lazy var subscribers = Subscribers(self)
    private(set) lazy var checker = Checker(self)
    private(set) lazy var volatiles = VolatileClients(self)
    private(set) lazy var fairness = FairnessChecker(self)
    private(set) lazy var machine = MachineChecker(self)
    var metrics = MetricsChecker()
    private(set) lazy var odds = Odds(&random)
    private(set) lazy var configuration = Result { try SimulatedDaemon.configuration(of: self) }
    private var violation: Violation?
    /// What happened, for the replay of a failure.
    private(set) var trace: [String] = []
    private let keepsTrace: Bool
    private(set) var stepCount = 0
    private var boots: UInt64 = 1
    /// Changes after each power cut.
    var boot: BootID { BootID(high: boots, low: 1) }
    /// Hosts that cannot be reached until this time (in nanoseconds since boot).
    private var downUntil: [String: Int64] = [:]

    /// The destination folders of downloads, each on its own file system.
    static let destinations = ["/out", "/far"]
    private static let resourceCount = 6
    private static let checkEvery = 40
    private static let moment: Int64 = 1_000_000_000
    private static let begin: Int64 = 1_000_000_000_000
    private static let wallBegin: Int64 = 1_700_000_000_000_000_000
    /// Several times longer than any retry waits.
    private static let patience: Int64 = 2 * 86400 * 1_000_000_000
    private static let mostCalmSteps = 60_000
    /// The number of steps without work after which one owner takes all slots, so that another finds none.
    private static let rush = 200

    init(_ scenario: Scenario, folder: String, keepsTrace: Bool) {
        self.folder = folder
        self.keepsTrace = keepsTrace
        plant = scenario.plant
        steps = scenario.steps
        hazards = scenario.hazards
        random = SeededGenerator(seed: scenario.seed)
    }

    var now: Timestamp { .now() }

    func note(_ text: @autoclosure () -> String) {
        if keepsTrace { trace.append("\(stepCount) \(sim_now() / 1_000_000) ms: \(text())") }
    }

    /// The first broken promise counts.
    func violate(_ text: String) {
        note("VIOLATION: \(text)")
        if violation == nil { violation = Violation(text) }
    }

    // MARK: Life

    /// - Throws: `Violation`, or another error if the simulation itself cannot continue.
    func run() throws {
        sim_reset(random.next(), Self.begin, Self.wallBegin)
        for place in ["", "/state", "/out", "/far", "/in", "/lost"] { mkdir(folder + place, 0o700) }
        sim_watch_names(folder + "/out", folder + "/far", folder + "/lost", plant != .unname)
        resources = (0..<Self.resourceCount).map { Resource($0, odds.traits, &random) }
        tls.begin()
        try start()
        while stepCount < steps {
            try step()
            // Checks at once if something changed that a promise is about, and otherwise now and then.
            if checker.isDue || stepCount % Self.checkEvery == 0 { try check() }
        }
        try check()
        try calmDown()
        end()
    }

    /// More often than a failing disk refuses calls.
    private static let mostStarts = 200

    /// Starts the daemon, again and again until its disk lets it start.
    private func start() throws {
        for attempt in 1... {
            do {
                let daemon = try SimulatedDaemon(self)
                // Nothing that a world does damages what was acknowledged.
                if let damage = daemon.store.damage { throw damage }
                self.daemon = daemon
                return daemon.start(self)
            } catch {
                note("the daemon does not start: \(error)")
                guard hasDiskTrouble, attempt < Self.mostStarts else {
                    throw Violation("the daemon does not start: \(error)")
                }
            }
        }
    }

    private func end() {
        sim_forget_jobs()
        endDaemon()
    }

    private func endDaemon() {
        daemon?.store.close()
        daemon?.volatileStore.close()
        daemon = nil
    }

    private func check() throws {
        if let violation { throw violation }
        try checker.check()
        if let violation { throw violation }
    }

    /// One thing happens: a crash, an action of a client, a ready job, or the next sleeping job.
    private func step() throws {
        stepCount += 1
        if let violation { throw violation }
        let hasStarted = daemon?.hasStarted ?? false
        switch odds.draw(&random) {
        case .crash? where hazards.contains(.crash): return try crash()
        case .client? where hasStarted: return client.act()
        case .clock? where hazards.contains(.clock):
            hasShiftedClock = true
            return shiftClock(by: Int64(random.below(7200) - 3600) * 1_000_000_000)
        case .disk? where hazards.contains(.disk): return breakDisk()
        case .version? where hazards.contains(.version): return try client.changeSource()
        case .subscriber? where hazards.contains(.subscriber): return subscribers.act()
        case .volatile? where hasStarted && hazards.contains(.volatile): return volatiles.act()
        case .machine? where hazards.contains(.machine): return machine.act()
        case .crash?, .client?, .clock?, .disk?, .version?, .subscriber?, .volatile?, .machine?, nil: break
        }
        if daemon?.hasFailed == true { return try crash() }
        let (ready, due) = (sim_ready(), sim_next_due())
        // What takes a moment may be over before those who are ready have had their turn: otherwise few bodies would arrive.
        let isSlow = hazards.contains(.order) && due >= 0 && due - sim_now() < Self.moment && random.chance(250)
        if ready > 0, isSlow {
            passedOver.removeAll { $0.at < sim_now() - Self.longestStop }
            passedOver.append((sim_now(), due - sim_now()))
        }
        if ready > 0, !isSlow { return sim_run(hazards.contains(.order) ? random.below(min(ready, 6)) : 0) }
        if due >= 0 { sim_advance(due) }
    }

    /// The daemon dies. What it was about to do is not done.
    private func crash() throws {
        let isPowerCut = hazards.contains(.power) && random.chance(500)
        note(isPowerCut ? "power cut" : "crash")
        sim_break_disk(0, 0)
        sim_forget_jobs()
        // Closing the store cleans up, which a death does not.
        let left = try names(in: "/state").filter { $0.contains(".sqlite") && !$0.hasSuffix("-shm") }
            .map { (name: $0, content: try content(of: folder + "/state/" + $0)) }
        if isPowerCut { try cutUnsynced() }
        let cut = try left.map { isPowerCut ? try content(of: folder + "/state/" + $0.name) : $0.content }
        try volatiles.checkFiles()
        endDaemon()
        for name in try names(in: "/state") where name.contains(".sqlite") { unlink(folder + "/state/" + name) }
        for (file, content) in zip(left, cut) { try write(content, to: folder + "/state/" + file.name) }
        client.crashed()
        subscribers.crashed()
        volatiles.crashed()
        tls.crashed()
        fairness.forget()
        machine.crashed()
        server.disconnect()
        if isPowerCut { boots += 1 }
        if plant == .forget { try forgetCommits() }
        try start()
        try subscribers.checkLog()
    }

    /// Only synced bytes of a file are certain. The rest is lost or replaced by other bytes. Of the names that were
    /// added, removed or changed since their folder was synced, the last ones were not.
    private func cutUnsynced() throws {
        let names = sim_unsynced_names()
        if names > 0 { sim_cut_names(random.below(names + 1)) }
        let paths =
            try Self.destinations.flatMap { place in
                try self.names(in: place).map { folder + place + "/" + $0 }
            } + [folder + "/state/dld.sqlite-wal"]
        for path in paths {
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            let kept = sim_durable(UInt64(status.st_ino))
            guard Int64(status.st_size) > kept else { continue }
            let file = open(path, O_WRONLY | O_CLOEXEC)
            guard file >= 0 else { continue }
            defer { close(file) }
            if random.chance(500) {
                ftruncate(file, off_t(kept))
            } else {
                let zeros = [UInt8](repeating: 0, count: Int(Int64(status.st_size) - kept))
                _ = pwrite(file, zeros, zeros.count, off_t(kept))
            }
        }
    }

    private var isCopied = false

    /// A planted defect: the state folder goes back to its content at the first crash.
    private func forgetCommits() throws {
        let (state, copy) = (folder + "/state/dld.sqlite", folder + "/copy")
        for suffix in ["", "-wal"] {
            if isCopied {
                try write(try content(of: copy + suffix), to: state + suffix)
            } else {
                try write((try? content(of: state + suffix)) ?? [], to: copy + suffix)
            }
        }
        unlink(state + "-shm")
        isCopied = true
    }

    /// Long enough for every waiting task to try again.
    private static let diskPatience: Int64 = 120_000_000_000

    /// Whether a request may be refused because the disk has failed.
    var hasDiskTrouble: Bool { sim_disk_failed() >= 0 && sim_now() - sim_disk_failed() < Self.diskPatience }

    /// When time passed although jobs were ready, and how much, as on a machine that is too busy.
    private var passedOver: [(at: Int64, time: Int64)] = []
    /// How long the daemon waits for a run to stop.
    private static let longestStop: Int64 = 10_000_000_000
    /// Most of that time passed while jobs were ready.
    var isBusy: Bool {
        let from = sim_now() - Self.longestStop
        return passedOver.reduce(0) { $0 + ($1.at >= from ? $1.time : 0) } > Self.longestStop / 2
    }

    private func shiftClock(by jump: Int64) {
        note("the wall clock jumps by \(jump / 1_000_000_000) s")
        sim_shift_wall(jump)
        wallAhead += jump
        furthestAhead = max(furthestAhead, wallAhead)
    }

    private func breakDisk() {
        let error = [ENOSPC, EIO, EDQUOT][random.below(3)]
        let calls = [1, 2 + random.below(8), 10 + random.below(90)][random.below(3)]
        note("the disk fails: \(calls) calls, errno \(error)")
        sim_break_disk(error, Int32(calls))
    }

    /// Sometimes a host is down for a while, so that it is delayed as a whole.
    func isDown(_ host: String) -> Bool {
        guard hazards.contains(.network) else { return false }
        if sim_now() < downUntil[host] ?? 0 { return true }
        guard random.chance(40) else { return false }
        downUntil[host] = sim_now() + Int64(random.below(600)) * 1_000_000_000
        return true
    }

    /// Nothing goes wrong any more, and everything must come to its end.
    private func calmDown() throws {
        hazards = []
        isCalm = true
        calmSince = sim_now()
        sim_break_disk(0, 0)
        machine.calm()
        // Tasks rightly wait for their dates, which clocks that were set back have moved hours away. A world has too few
        // steps for that long.
        if hasShiftedClock { shiftClock(by: furthestAhead - wallAhead) }
        let deadline = sim_now() + Self.patience
        var isResumed = false
        var idle = 0
        for _ in 0..<Self.mostCalmSteps {
            stepCount += 1
            if let violation { throw violation }
            if daemon?.hasFailed == true { try crash() }
            if sim_ready() > 0 {
                sim_run(0)
                continue
            }
            if !isResumed, daemon?.hasStarted == true {
                isResumed = true
                client.resumeAll()
                subscribers.calm()
                continue
            }
            idle += 1
            if let daemon, idle == Self.rush { client.fillSlots(daemon) }
            if let daemon, idle == Self.rush + 20 { client.addLate(daemon) }
            if isResumed, idle % 8 == 0 {
                try read(fairness.check)
                try daemon?.volatileStore.readHere { try volatiles.finish($0) }
                // Some questions wait for an answer without a time limit.
                let asks = try read { try !$0.openDecisions(owner: nil, sessions: nil, tasks: nil, limit: 1).isEmpty }
                if let daemon, asks { client.answer(daemon, late: false) }
                if try isSettled() { break }
            }
            let due = sim_next_due()
            guard due >= 0, due < deadline else { break }
            sim_advance(due)
        }
        note("settled")
        hasSettled = true
        try checker.checkEnd()
    }

    private func isSettled() throws -> Bool {
        guard subscribers.areSettled, try volatiles.areSettled() else { return false }
        return try read {
            try $0.counts().allSatisfy { $0.key.isFinal || $0.value == 0 } && $0.uploadEndings(limit: 1).isEmpty
                && $0.leftParts(limit: 1).isEmpty
        }
    }

    // MARK: Looking

    /// Returns nil if there is no such file.
    func size(of path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    /// Reads the store outside the daemon's steps. A broken promise is no failure of the store.
    func read<Value>(_ body: (StoreSnapshot) throws -> Value) throws -> Value {
        guard let store = daemon?.store else { throw Violation("there is no store to look at") }
        return try store.readHere { snapshot in Result { try body(snapshot) } }.get()
    }

    func names(in place: String) throws -> [String] {
        guard let folder = opendir(folder + place) else { throw Violation("\(place) is gone") }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func content(of path: String) throws -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Violation("\(path) cannot be read") }
        defer { close(file) }
        var status = stat()
        fstat(file, &status)
        let length = Int(status.st_size)
        return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            count = max(0, Glibc.read(file, buffer.baseAddress, length))
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0, Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw Violation("\(path) cannot be written")
        }
        close(file)
    }
}
