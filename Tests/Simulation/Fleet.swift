import ArgumentParser
import CSimulation
import TestSupport

/// Processes that share the worlds of a run, some dozens at a time. No memory of a world is freed before its process
/// ends.
struct Fleet {
    var workers: Int
    /// The arguments of every process besides its seeds.
    var options: [String]

    /// The number of worlds in one process. With more, the descriptors would run out.
    static let chunk = 50
    /// In seconds.
    private static let patience = 3600.0

    /// The worlds of one process.
    private struct Share: Sendable {
        var first: UInt64
        var count: Int
    }

    private struct Ending: Sendable {
        var share: Share
        var status: Int32
        var output: String
    }

    /// - Throws: `ExitCode` if a world breaks a promise or crashes its process.
    func run(first: UInt64, count: Int) async throws {
        let begun = sim_real_nanoseconds()
        var shares = stride(from: 0, to: count, by: Self.chunk).map {
            Share(first: first &+ UInt64($0), count: min(Self.chunk, count - $0))
        }[...]
        try await withThrowingTaskGroup(of: Ending.self) { group in
            for share in shares.prefix(workers) { group.addTask { try await perform(share) } }
            shares = shares.dropFirst(workers)
            while let ending = try await group.next() {
                guard ending.status == 0 else { throw try await failure(ending) }
                guard let share = shares.popFirst() else { continue }
                group.addTask { try await perform(share) }
            }
        }
        let seconds = Double(sim_real_nanoseconds() - begun) / 1e9
        print(
            "\(count) worlds from seed \(first), 0 failures, "
                + "\(Int(Double(count) / max(seconds, 0.001) * 60)) worlds a minute")
    }

    private func perform(_ share: Share) async throws -> Ending {
        let seeds = ["--first", "\(share.first)", "--seeds", "\(share.count)"]
        let (status, output) = try await Program.run(
            ["/proc/self/exe"] + seeds + options, limit: Self.patience)
        return Ending(share: share, status: status, output: output)
    }

    /// Prints what went wrong. If the process crashed before it could report, looks for the seed.
    private func failure(_ ending: Ending) async throws -> ExitCode {
        print(ending.output, terminator: "")
        guard ending.status > 128 else { return ExitCode(ending.status) }
        for number in 0..<UInt64(ending.share.count) {
            let seed = ending.share.first &+ number
            let alone = try await perform(Share(first: seed, count: 1))
            guard alone.status != 0 else { continue }
            print("seed \(seed): ended with status \(alone.status)\n\(alone.output)", terminator: "")
            print("replay: simulate --seed \(seed) " + options.joined(separator: " "))
            break
        }
        return ExitCode(1)
    }
}
