import TransferModel

/// Where the next page begins: the sort key of the last record, as text that clients return unchanged.
package struct PageCursor: Hashable {
    package var order: TaskOrder
    /// Place in `TaskOrder.stages`.
    var stage: Int
    var key: ListKey

    init(order: TaskOrder, stage: Int = 0, key: ListKey) {
        self.order = order
        self.stage = stage
        self.key = key
    }

    /// - Throws: `TransferError` `request.bad_field` if the text is not a cursor this store made for `order`.
    package init(_ text: String, order: TaskOrder, store: String) throws {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 6, parts[0] == order.rawValue, let major = UInt64(parts[1], radix: 36),
            let minor = UInt64(parts[2], radix: 36), let id = Int64(parts[3], radix: 36),
            let stage = Int(parts[4]), order.stages.indices.contains(stage),
            parts[5] == Self.seal(parts[0..<5], store)
        else {
            throw TransferError.bad("cursor", "pass `nextCursor` of the page before unchanged, with the same order.")
        }
        self.order = order
        self.stage = stage
        key = ListKey(id: TaskID(id), major: Double(bitPattern: major), minor: Double(bitPattern: minor))
    }

    package func text(store: String) -> String {
        let parts = [
            order.rawValue, String(key.major.bitPattern, radix: 36), String(key.minor.bitPattern, radix: 36),
            String(key.id.rawValue, radix: 36), String(stage),
        ]
        return (parts + [Self.seal(parts[...], store)]).joined(separator: ".")
    }

    /// FNV-1a detects mistakes, not attacks. A forged cursor shows a client nothing that it could not list anyway.
    package static func seal(_ parts: ArraySlice<String>, _ store: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in (parts.joined(separator: ".") + store).utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 36)
    }
}
