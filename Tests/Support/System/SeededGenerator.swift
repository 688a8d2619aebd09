import Glibc

/// Random numbers that a seed reproduces (SplitMix64), so that a failure can be repeated.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// For random tests: prints how to repeat the run. `DLD_SEED` is the seed of such a repetition.
    package init(announcing test: String) {
        let named = getenv("DLD_SEED").flatMap { UInt64(String(cString: $0)) }
        let seed = named ?? UInt64.random(in: 0..<1_000_000_000)
        print("\(test): DLD_SEED=\(seed)")
        // Tests that run with the same seed must not do the same.
        self.init(seed: test.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 })
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
