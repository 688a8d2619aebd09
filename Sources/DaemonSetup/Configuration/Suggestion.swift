/// Finds the name that was probably meant by a mistyped one.
package enum Suggestion {
    /// The most similar of `names`, if it is similar enough.
    package static func nearest(to typed: String, among names: [String]) -> String? {
        let lowered = typed.lowercased()
        let scored = names.map { name in
            let last = name.split(separator: ".").last.map(String.init) ?? name
            return (name, min(distance(lowered, name.lowercased()), distance(lowered, last.lowercased())))
        }
        guard let best = scored.min(by: { $0.1 < $1.1 }) else { return nil }
        // Only the last part of the name determines how many mistakes are allowed. A long section must not allow more.
        let own = typed.split(separator: ".").last?.count ?? 0
        return best.1 <= max(2, own / 3) ? best.0 : nil
    }

    /// The number of insertions, deletions and replacements between the two (Levenshtein).
    static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.utf8)
        let b = Array(b.utf8)
        var row = Array(0...b.count)
        for (i, left) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, right) in b.enumerated() {
                let replaced = diagonal + (left == right ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[b.count]
    }
}
