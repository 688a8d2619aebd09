import FileKit
import TestSupport

/// How often each event happens in a world, drawn once per world. Some worlds have much of one kind and nothing of
/// another, which leads to situations that an average world never reaches.
struct Odds {
    enum Happening { case crash, client, clock, disk, version, subscriber, volatile, machine }

    private let bounds: [(Happening, below: Int)]
    /// Per thousand resources: many in some worlds, few in most.
    struct Traits {
        var sick: Int
        var slow: Int
    }
    let traits: Traits
    /// Per thousand actions of a client.
    let resumeData: Int
    let sessionEnd: Int
    let sessionPause: Int
    let update: Int
    /// Per thousand actions of a client, if it has looked for questions.
    let answer: Int
    /// Of 1,000 bodies of downloads.
    let cut: Int

    private static let range = 1600

    init(_ random: inout SeededGenerator) {
        /// Returns the usual value in most cases, otherwise one of the others.
        func often(_ usual: Int, _ others: [Int]) -> Int {
            random.chance(600) ? usual : others[random.below(others.count)]
        }
        var sum = 0
        bounds = [
            (Happening.crash, often(4, [0, 2, 10])), (.client, often(36, [12, 80])), (.clock, often(2, [0, 8])),
            (.disk, often(3, [0, 12])), (.version, often(6, [0, 20])), (.subscriber, often(44, [0, 16, 80])),
            (.volatile, often(40, [0, 120])), (.machine, often(6, [0, 30])),
        ].map { happening, weight in
            sum += weight
            return (happening, sum)
        }
        resumeData = often(100, [0, 400])
        sessionEnd = often(60, [0, 200])
        sessionPause = often(60, [0, 300])
        traits = Traits(sick: often(50, [0, 400]), slow: often(50, [0, 700]))
        update = often(150, [0, 500])
        answer = often(300, [0, 700])
        cut = often(300, [50, 650])
    }

    /// Returns nil for whatever is due.
    func draw(_ random: inout SeededGenerator) -> Happening? {
        let number = random.below(Self.range)
        return bounds.first { number < $0.below }?.0
    }
}
