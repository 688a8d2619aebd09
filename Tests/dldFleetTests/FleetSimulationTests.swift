import Testing

@testable import dld_fleet

@Suite struct FleetSimulationTests {
    /// A failure prints its seed; `FleetSimulation(seed:)` with `isVerbose` tells its story.
    @Test(arguments: 0..<4) func everySeedHolds(part: Int) {
        for seed in UInt64(part * 50)..<UInt64(part * 50 + 50) {
            let violation = FleetSimulation(seed: seed).run()
            #expect(violation == nil, "seed \(seed): \(violation ?? "")")
            if violation != nil { return }
        }
    }

    @Test(arguments: Plant.allCases) func findsDefect(plant: Plant) {
        let found = (0..<UInt64(200)).first { FleetSimulation(seed: $0, plant: plant).run() != nil }
        #expect(found != nil, "\(plant) was not found")
    }
}
