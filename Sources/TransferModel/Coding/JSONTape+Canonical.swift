extension JSONTape {
    /// The same value without spaces and with the members of each object sorted by name: equal values give equal bytes
    /// if the same encoder wrote them.
    func canonical() -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        appendCanonical(0, to: &text)
        return text
    }

    /// Recursive; the scanner limits the depth of a text.
    private func appendCanonical(_ index: Int, to text: inout [UInt8]) {
        let entry = entries[index]
        switch entry.kind {
        case .null, .yes, .no, .number: text += slice(entry)
        case .string: appendQuoted(entry, to: &text)
        case .array:
            text.append(UInt8(ascii: "["))
            var element = index + 1
            while element < Int(entry.next) {
                if element > index + 1 { text.append(UInt8(ascii: ",")) }
                appendCanonical(element, to: &text)
                element = Int(entries[element].next)
            }
            text.append(UInt8(ascii: "]"))
        case .object:
            text.append(UInt8(ascii: "{"))
            for (place, name) in names(of: index).enumerated() {
                if place > 0 { text.append(UInt8(ascii: ",")) }
                appendQuoted(entries[name], to: &text)
                text.append(UInt8(ascii: ":"))
                appendCanonical(name + 1, to: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
    }

    private func names(of object: Int) -> [Int] {
        var names: [Int] = []
        var name = object + 1
        while name < Int(entries[object].next) {
            names.append(name)
            name = Int(entries[name + 1].next)
        }
        return names.sorted { slice(entries[$0]).lexicographicallyPrecedes(slice(entries[$1])) }
    }

    private func appendQuoted(_ entry: Entry, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        text += slice(entry)
        text.append(UInt8(ascii: "\""))
    }
}

extension JSONCoding {
    /// Text that is the same for equal values in every process, because a dictionary's order of members is not stable.
    /// - Throws: as `encode`.
    package static func canonical(_ value: some Encodable) throws -> [UInt8] {
        let text = try encode(value)
        return JSONTape(text)?.canonical() ?? text
    }
}
