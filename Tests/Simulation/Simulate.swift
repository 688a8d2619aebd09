import ArgumentParser
import CSimulation
import Foundation

/// Runs seeded worlds. If a seed breaks a promise, replays it with less and less until only the necessary hazards and
/// steps are left.
@main
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Runs dld's supervision and store in seeded worlds and checks its promises.")

    @Option(help: "Worlds to run.") var seeds = 200
    @Option(help: "The first world's seed.") var first: UInt64 = 1
    @Option(help: "Replays one world and prints what happens.") var seed: UInt64?
    @Option(help: "Steps of a world before it calms down.") var steps = 2000
    @Option(parsing: .upToNextOption, help: "What must not go wrong.") var without: [Hazard] = []
    @Option(help: "Plants a defect: success is to find it.") var plant: Plant?
    @Option(help: "Processes that share the worlds.") var workers = 1
    @Option(help: "Where worlds keep their files; they flush often.") var folder = "/dev/shm"

    func validate() throws {
        guard seeds > 0, steps >= 0, workers > 0 else {
            throw ValidationError("--seeds and --workers take numbers from 1, --steps from 0")
        }
    }

    func run() async throws {
        removeLeftovers()
        if workers > 1 || seeds > Fleet.chunk, seed == nil, plant == nil {
            try await Fleet(workers: workers, options: ["--steps", "\(steps)", "--folder", folder] + withoutOption)
                .run(first: first, count: seeds)
        } else {
            try runHere()
        }
    }

    private var withoutOption: [String] { without.isEmpty ? [] : ["--without"] + without.map(\.rawValue) }

    private func runHere() throws {
        try becomeDeterministic()
        sim_begin()
        let hazards = Set(Hazard.allCases).subtracting(without)
        if let seed {
            let scenario = Scenario(seed: seed, steps: steps, hazards: hazards, plant: plant)
            guard let violation = try attempt(scenario, prints: true) else { return print("seed \(seed): clean") }
            print("seed \(seed): \(violation)")
            throw ExitCode(1)
        }
        let begun = sim_real_nanoseconds()
        var stepCount = 0
        for number in 0..<UInt64(seeds) {
            let scenario = Scenario(seed: first &+ number, steps: steps, hazards: hazards, plant: plant)
            guard let violation = try attempt(scenario, count: &stepCount) else { continue }
            if let plant {
                print("found \(plant.rawValue) with seed \(scenario.seed): \(violation)")
                return
            }
            print("seed \(scenario.seed): \(violation)")
            let small = try shrunk(scenario)
            print("replay: simulate \(small.arguments)")
            throw ExitCode(1)
        }
        let seconds = Double(sim_real_nanoseconds() - begun) / 1e9
        print(
            "\(seeds) worlds from seed \(first), \(stepCount) steps, 0 failures, "
                + "\(Int(Double(seeds) / max(seconds, 0.001) * 60)) worlds a minute")
        if plant != nil {
            print("the planted defect was not found")
            throw ExitCode(1)
        }
    }

    /// The order of sets and dictionaries must be the same in every run.
    private func becomeDeterministic() throws {
        let name = "SWIFT_DETERMINISTIC_HASHING"
        guard getenv(name) == nil else { return }
        setenv(name, "1", 1)
        var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
        arguments.append(nil)
        execv("/proc/self/exe", arguments)
        throw ValidationError("cannot start anew")
    }

    /// - Returns: The promise that the world broke, or nil if it broke none.
    private func attempt(_ scenario: Scenario, prints: Bool = false) throws -> Violation? {
        var count = 0
        return try attempt(scenario, prints: prints, count: &count)
    }

    private func attempt(_ scenario: Scenario, prints: Bool = false, count: inout Int) throws -> Violation? {
        // The name always has the same length, because names are part of stored and reported texts.
        let place = "\(folder)/\(Self.prefix)" + "\(10_000_000 + getpid())".dropFirst()
        removeTree(place)
        defer { removeTree(place) }
        let world = World(scenario, folder: place, keepsTrace: prints)
        // Jobs of a dead daemon still refer to the world, so the memory of a world is never freed.
        _ = Unmanaged.passRetained(world)
        defer {
            count += world.stepCount
            if prints { for line in world.trace { print(line.replacing(place, with: "")) } }
        }
        do {
            try world.run()
            return nil
        } catch let violation as Violation {
            return violation
        }
    }

    /// Removes what the failure does not need: hazards first, then steps.
    private func shrunk(_ scenario: Scenario) throws -> Scenario {
        var small = scenario
        for hazard in Hazard.allCases {
            var less = small
            less.hazards.remove(hazard)
            if try attempt(less) != nil { small = less }
        }
        var (low, high) = (0, small.steps)
        while low + 1 < high {
            var less = small
            less.steps = (low + high) / 2
            if try attempt(less) != nil { high = less.steps } else { low = less.steps }
        }
        small.steps = high
        return small
    }

    private static let prefix = "dld-simulation-"

    /// Removes the folders of killed simulations, which may use memory.
    private func removeLeftovers() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard name.hasPrefix(Self.prefix), let process = pid_t(name.dropFirst(Self.prefix.count)),
                kill(process, 0) != 0, errno == ESRCH
            else { continue }
            removeTree("\(folder)/\(name)")
        }
    }

    private func removeTree(_ path: String) { try? FileManager.default.removeItem(atPath: path) }
}
