extension JSONTape {
    /// The path of the first member whose name already occurred in its object; nil if there is none. RFC 8259 section 4
    /// leaves open which of two values counts.
    func duplicate() -> [any CodingKey]? {
        for (index, entry) in entries.enumerated() where entry.kind == .object && entry.count > 1 {
            var names: Set<[UInt8]> = []
            var name = index + 1
            while name < Int(entry.next) {
                let text = entries[name].count == 0 ? Array(slice(entries[name])) : unescaped(entries[name])
                if !names.insert(text).inserted {
                    // The path leads to the member's value, not to its object.
                    return path(to: index) + [AnyKey(stringValue: String(decoding: text, as: UTF8.self))]
                }
                name = Int(entries[name + 1].next)
            }
        }
        return nil
    }

    private func unescaped(_ entry: Entry) -> [UInt8] { JSONEscape.unescaped(slice(entry)) ?? Array(slice(entry)) }
}
