import FuzzTargets
import TestSupport
import Testing

extension FuzzTarget: CustomTestStringConvertible {
    package var testDescription: String { name }
}

/// Runs the fuzz targets without libFuzzer, with the committed inputs and mutations of them.
struct FuzzTargetTests {
    private static func corpus(_ target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let folder = folder(of: target)
        let names = Files.names(in: folder)
        guard !names.isEmpty else { throw SupportError("\(folder) is empty") }
        return try names.map { ($0, try Files.read(folder + "/" + $0)) }
    }

    private static func folder(of target: FuzzTarget) -> String {
        #filePath.split(separator: "/").dropLast(2).reduce("") { $0 + "/" + $1 } + "/Corpus/" + target.name
    }

    /// The number of mutations that are tried for all inputs. All targets together take a few seconds.
    private static let mutations = 4000

    @Test(arguments: FuzzTarget.all)
    func everyCommittedInputHolds(target: FuzzTarget) throws {
        for (name, bytes) in try Self.corpus(target) {
            do { try target.check(bytes) } catch { Issue.record("\(target.name)/\(name): \(error)") }
        }
    }

    @Test(arguments: FuzzTarget.all)
    func mutationsHold(target: FuzzTarget) async throws {
        var generator = SeededGenerator(announcing: "fuzz \(target.name)")
        let mutator = Mutator(seeds: try Self.corpus(target).map(\.bytes), words: target.words)
        for number in 0..<Self.mutations {
            // Two of these would hold every thread of the pool for minutes.
            if number % 20 == 0 { await Task.yield() }
            let input = mutator.next(&generator)
            do {
                try target.check(input)
            } catch {
                let text = String(decoding: input, as: UTF8.self).unicodeScalars
                    .map { $0.escaped(asASCII: true) }.joined()
                Issue.record("mutation \(number): \(error) — \(text)")
                return
            }
        }
    }

    /// A harness that accepts a planted defect checks nothing.
    @Test(arguments: FuzzTarget.all)
    func aPlantedDefectIsFound(target: FuzzTarget) throws {
        var generator = SeededGenerator(seed: 1)
        let seeds = try Self.corpus(target).map(\.bytes)
        let mutator = Mutator(seeds: seeds, words: target.words)
        #expect(throws: Violation.self) {
            try seeds.forEach(target.checkPlanted)
            for _ in 0..<Self.mutations { try target.checkPlanted(mutator.next(&generator)) }
        }
    }

    @Test func theCorporaAreSmallAndEachHasItsTarget() throws {
        let names = FuzzTarget.all.map(\.name)
        let parent = #filePath.split(separator: "/").dropLast(2).reduce("") { $0 + "/" + $1 } + "/Corpus"
        #expect(Set(Files.names(in: parent)) == Set(names))
        var total = 0
        for target in FuzzTarget.all {
            for (name, bytes) in try Self.corpus(target) {
                #expect(bytes.count <= 4096, "\(target.name)/\(name)")
                total += bytes.count
            }
        }
        #expect(total < 300 << 10)
    }
}
