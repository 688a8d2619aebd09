/// Changes inputs at random. The same generator makes the same changes.
package struct Mutator {
    private let seeds: [[UInt8]]
    private let words: [[UInt8]]

    /// - Parameters:
    ///   - seeds: complete inputs that mutations start from.
    ///   - words: the words of the target.
    package init(seeds: [[UInt8]], words: [String]) {
        self.seeds = seeds
        self.words = words.map { Array($0.utf8) }
    }

    package func next(_ generator: inout some RandomNumberGenerator) -> [UInt8] {
        var input = seeds.randomElement(using: &generator) ?? []
        for _ in 0..<Int.random(in: 1...4, using: &generator) { change(&input, &generator) }
        return Array(input.prefix(4096))
    }

    private func change(_ input: inout [UInt8], _ generator: inout some RandomNumberGenerator) {
        let place = Int.random(in: 0...input.count, using: &generator)
        let end = min(input.count, place + Int.random(in: 1...16, using: &generator))
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: input.removeSubrange(place..<end)
        case 1 where place < input.count: input[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 2: input.insert(UInt8.random(in: 0...255, using: &generator), at: place)
        case 3: input.insert(contentsOf: input[place..<end], at: place)
        case 4:
            let other = seeds.randomElement(using: &generator) ?? []
            let from = Int.random(in: 0...other.count, using: &generator)
            input.replaceSubrange(place..., with: other[from...])
        case 5: input.replaceSubrange(place..<end, with: words.randomElement(using: &generator) ?? [])
        default: input.insert(contentsOf: words.randomElement(using: &generator) ?? [], at: place)
        }
    }
}
