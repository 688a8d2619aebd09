import TestSupport

extension SeededGenerator {
    /// A number from 0 up to, but not including, `bound`.
    mutating func below(_ bound: Int) -> Int { bound > 0 ? Int(next() % UInt64(bound)) : 0 }

    /// True in so many of a thousand cases.
    mutating func chance(_ perMille: Int) -> Bool { below(1000) < perMille }
}
