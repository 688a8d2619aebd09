/// A JSON object with known members: each is said once, by a row of its shape.
///
/// Decoding, encoding and the reference follow from the rows.
public protocol WireObject: WireValue {
    static var shape: Shape<Self> { get }
}

extension WireObject {
    public static var wireType: WireType { .object(Self.self) }
    public init(json node: JSONNode) throws(TransferError) { self = try Self.shape.read(node) }
    public func write(to text: inout JSONWriter) {
        text.object { Self.shape.write(self, to: &$0) }
    }

    /// Name of the object in the reference.
    public static var wireName: String { shape.name }
    /// Every member with its documentation, in order.
    public static var fields: [(name: String, field: Field)] {
        shape.rows.map { ($0.name, $0.field) }
    }
    /// What the reference says about a member.
    package static func text(_ member: String) -> String { shape[member]?.field.text ?? "" }
}

/// The documentation of one member.
public struct Field: Sendable {
    public var type: WireType
    public var isRequired: Bool
    /// A sentence or two; units if the type does not give them.
    public var text: String

    @usableFromInline
    init(_ type: WireType, isRequired: Bool, _ text: String) {
        self.type = type
        self.isRequired = isRequired
        self.text = text
    }
}

/// The members of an object, in the order in which they are written.
public struct Shape<Root: Sendable>: Sendable {
    public let name: String
    public let rows: [Row<Root>]
    /// What the rows write, apart from them: that saves a reference count for each.
    private let writers: [Row<Root>.Write]
    /// A value whose members are absent, or not read yet.
    private let blank: Root
    package let table: NameTable
    /// By place.
    package let secrecy: [Secrecy]
    /// Places of the members that must be present.
    private let required: PlaceSet
    /// Places by the names that members had before.
    private let former: [String: Int]

    /// - Parameters:
    ///   - name: of the object in the reference.
    ///   - blank: what is read fills in its members; those that may be absent are unset first.
    public init(_ name: String, _ blank: Root, _ describe: (inout Rows<Root>) -> Void) {
        var rows = Rows<Root>()
        describe(&rows)
        self.name = name
        self.rows = rows.rows
        writers = self.rows.map(\.write)
        secrecy = self.rows.map(\.secrecy)
        self.blank = self.rows.reduce(into: blank) { $1.clear(&$0) }
        table = NameTable(self.rows.map(\.name))
        var required = PlaceSet()
        for (place, row) in self.rows.enumerated() where row.isDemanded { required.insert(place) }
        self.required = required
        former = Dictionary(
            self.rows.enumerated().compactMap { place, row in row.was.map { ($0, place) } }, uniquingKeysWith: { $1 })
    }

    package var names: [String] { rows.map(\.name) }

    /// Place of the row with this name, in UTF-8.
    func place(of name: ArraySlice<UInt8>) -> Int? { table.place(of: name) }

    public subscript(name: String) -> Row<Root>? { place(of: Array(name.utf8)[...]).map { rows[$0] } }

    /// - Parameter ignoresOthers: members that no row has are passed over, because other rows read them.
    /// - Throws: what a row throws; `request.unknown_field` or `request.bad_field` for members that are unknown, given
    ///   twice or missing.
    public func read(_ node: JSONNode, ignoringOthers ignoresOthers: Bool = false) throws(TransferError) -> Root {
        guard node.kind == .object else { throw node.refusal("give an object.") }
        var root = blank
        var seen = PlaceSet()
        var present = PlaceSet()
        for index in node.places {
            guard let place = place(at: index, of: node.tape) else {
                if ignoresOthers || node.isLenient { continue }
                throw unknown(index, of: node)
            }
            guard seen.insert(place) else { throw node.refusal(JSONValue.givenTwice, member: rows[place].name) }
            let value = JSONNode(tape: node.tape, index: index + 1)
            // What must be there may be a `JSONValue`, which null is too; other types refuse it.
            if value.isNull, !rows[place].isDemanded { continue }
            try rows[place].read(value, &root)
            present.insert(place)
        }
        if let missing = required.first(notIn: present) {
            throw node.missing(rows[missing].name)
        }
        return root
    }

    private func place(at index: Int, of tape: JSONTape) -> Int? {
        let name = tape.entries[index]
        let plain = name.count == 0 ? tape.slice(name) : JSONEscape.unescaped(tape.slice(name))?[...]
        guard let plain else { return nil }
        if let place = table.place(of: plain) { return place }
        return former.isEmpty ? nil : former[String(decoding: plain, as: UTF8.self)]
    }

    private func unknown(_ name: Int, of node: JSONNode) -> TransferError {
        let member = JSONNode(tape: node.tape, index: name).legible
        guard node.places.count(where: { JSONNode(tape: node.tape, index: $0).legible == member }) == 1 else {
            return node.refusal(JSONValue.givenTwice, member: member)
        }
        let known = rows.map(\.name).sorted()
        return node.refusal(
            known.isEmpty
                ? "no such field; there are none here."
                : "no such field. Known here: \(known.joined(separator: ", ")).",
            .unknownField, member: member)
    }

    /// The members that have a value.
    package func present(in root: Root) -> [Row<Root>] { rows.filter { $0.isSet(root) } }

    /// Writes the members into the object that is open.
    /// - Parameter text: written in place of the member with its name.
    public func write(_ root: Root, to writer: inout JSONWriter, with text: (name: String, JSONMembers)? = nil) {
        let replaced = text.flatMap { place(of: Array($0.name.utf8)[...]) }
        withUnsafePointer(to: root) { writeMembers(UnsafeRawPointer($0), writers, to: &writer, replaced, text) }
    }
}

/// Not generic: a generic function looks up the types of what it calls.
private func writeMembers(
    _ root: UnsafeRawPointer, _ writers: [@Sendable (UnsafeRawPointer, inout JSONWriter) -> Void],
    to writer: inout JSONWriter, _ replaced: Int?, _ text: (name: String, JSONMembers)?
) {
    for place in writers.indices {
        if place == replaced, let text {
            writer.name(text.name)
            writer.append(text.1.object)
        } else {
            writers[place](root, &writer)
        }
    }
}

/// One member of an object; a class, because a copied value would cost a reference count for each of its parts.
public final class Row<Root>: Sendable {
    public let name: String
    /// Its name before; it is still read, never written, and not in the reference.
    public let was: String?
    public let field: Field
    /// nil if it is a member of a member.
    public let path: (AnyKeyPath & Sendable)?
    public let secrecy: Secrecy
    /// The tasks that the member is for; nil for all.
    package let tasks: TaskUse?
    /// The option or argument of dlctl that sets it.
    package let option: String?
    /// Absent is refused.
    let isDemanded: Bool
    let read: Read
    let write: Write
    /// Whether the member has a value.
    package let isSet: @Sendable (Root) -> Bool
    /// Takes the member from another value, if that sets it.
    let copy: @Sendable (Root, inout Root) -> Void
    /// Unsets the member, if it can be unset.
    let clear: @Sendable (inout Root) -> Void

    public typealias Read = @Sendable (JSONNode, inout Root) throws(TransferError) -> Void
    /// From a pointer to a `Root`.
    public typealias Write = @Sendable (UnsafeRawPointer, inout JSONWriter) -> Void

    @usableFromInline
    init(
        _ name: String, was: String?, _ field: Field, _ path: (AnyKeyPath & Sendable)?,
        _ secrecy: Secrecy,
        _ tasks: TaskUse?, _ option: String?, isDemanded: Bool, read: @escaping Read, write: @escaping Write,
        isSet: @escaping @Sendable (Root) -> Bool, copy: @escaping @Sendable (Root, inout Root) -> Void,
        clear: @escaping @Sendable (inout Root) -> Void
    ) {
        self.name = name
        self.was = was
        self.field = field
        self.path = path
        self.secrecy = secrecy
        self.tasks = tasks
        self.option = option
        self.isDemanded = isDemanded
        self.read = read
        self.write = write
        self.isSet = isSet
        self.copy = copy
        self.clear = clear
    }
}

/// What clients may not see of a member.
public enum Secrecy: Sendable {
    case none
    /// The user info of its URLs.
    case userInfo
    /// All of it, or parts.
    case whole
}

/// Collects the rows of a shape: each call adds one. The calls are inlined, so that each row is compiled for its types.
public struct Rows<Root> {
    fileprivate(set) var rows: [Row<Root>] = []

    /// A member that may be absent: null is the same, and nil is not written.
    /// - Parameter isRequired: whether the reference says that it is always there.
    @inlinable
    public mutating func callAsFunction<Value: WireValue>(
        _ name: String, _ path: WritableKeyPath<Root, Value?> & Sendable, _ text: String = "",
        as type: WireType = Value.wireType, isRequired: Bool = false, secrecy: Secrecy = .none,
        of tasks: TaskUse? = nil, option: String? = nil, was: String? = nil
    ) {
        let place = Place(path)
        let quoted = Self.quoted(name)
        add(
            Row(
                name, was: was, Field(type, isRequired: isRequired, text), path, secrecy, tasks,
                option,
                isDemanded: false,
                read: { (node, root) throws(TransferError) in place.set(try Value(json: node), in: &root) },
                write: { root, writer in
                    guard let value = place.value(root) else { return }
                    writer.name(quoted)
                    value.write(to: &writer)
                },
                isSet: { $0[keyPath: path] != nil },
                copy: { other, root in
                    if let value = other[keyPath: path] { root[keyPath: path] = value }
                },
                clear: { $0[keyPath: path] = nil }))
    }

    /// A member that is always written.
    /// - Parameters:
    ///   - isRequired: whether it must be present; if not, the blank's value counts.
    ///   - omitted: not written if it has this value.
    @inlinable
    public mutating func callAsFunction<Value: WireValue>(
        _ name: String, _ path: WritableKeyPath<Root, Value> & Sendable, _ text: String = "",
        as type: WireType = Value.wireType, isRequired: Bool = true, omitted: (@Sendable (Value) -> Bool)? = nil,
        was: String? = nil
    ) {
        let place = Place(path)
        let quoted = Self.quoted(name)
        add(
            Row(
                name, was: was, Field(type, isRequired: isRequired, text), path, .none, nil, nil,
                isDemanded: isRequired,
                read: { (node, root) throws(TransferError) in place.set(try Value(json: node), in: &root) },
                write: { root, writer in
                    let value = place.value(root)
                    if let omitted, omitted(value) { return }
                    writer.name(quoted)
                    value.write(to: &writer)
                },
                isSet: { omitted?($0[keyPath: path]) != true }, copy: { $1[keyPath: path] = $0[keyPath: path] },
                clear: { _ in }))
    }

    @usableFromInline
    mutating func add(_ row: Row<Root>) { rows.append(row) }

    /// The name with its quotes and the colon.
    @usableFromInline
    static func quoted(_ name: String) -> [UInt8] { Array("\"\(name)\":".utf8) }

    /// The members of a part, which are members of this object too.
    /// - Parameter others: names of those that are not.
    public mutating func callAsFunction<Part>(
        membersOf part: WritableKeyPath<Root, Part> & Sendable, _ shape: Shape<Part>, without others: Set<String> = []
    ) {
        let place = Place(part)
        for row in shape.rows where !others.contains(row.name) {
            add(
                Row(
                    row.name, was: row.was, row.field, nil, row.secrecy, row.tasks, row.option,
                    isDemanded: row.isDemanded,
                    read: { (node, root) throws(TransferError) in try row.read(node, &root[keyPath: part]) },
                    write: { root, writer in
                        withUnsafePointer(to: place.value(root)) { row.write(UnsafeRawPointer($0), &writer) }
                    },
                    isSet: { row.isSet($0[keyPath: part]) }, copy: { row.copy($0[keyPath: part], &$1[keyPath: part]) },
                    clear: { row.clear(&$0[keyPath: part]) }))
        }
    }
}

/// Where a value stores a member. A key path costs some hundred instructions at each use, an offset three.
@usableFromInline
struct Place<Root, Value>: Sendable {
    @usableFromInline let path: WritableKeyPath<Root, Value> & Sendable
    /// nil if the member is computed or observed.
    @usableFromInline let offset: Int?

    @inlinable
    init(_ path: WritableKeyPath<Root, Value> & Sendable) {
        self.path = path
        offset = MemoryLayout<Root>.offset(of: path)
    }

    /// - Parameter root: points to a `Root`.
    @inlinable
    func value(_ root: UnsafeRawPointer) -> Value {
        guard let offset else { return root.assumingMemoryBound(to: Root.self).pointee[keyPath: path] }
        return (root + offset).assumingMemoryBound(to: Value.self).pointee
    }

    @inlinable
    func set(_ value: Value, in root: inout Root) {
        guard let offset else { return root[keyPath: path] = value }
        withUnsafeMutablePointer(to: &root) { root in
            (UnsafeMutableRawPointer(root) + offset).assumingMemoryBound(to: Value.self).pointee = value
        }
    }
}

/// A set of places below 128.
struct PlaceSet: Sendable {
    private var bits: UInt128 = 0

    /// - Returns: false if it is in the set already, or does not fit.
    @discardableResult
    mutating func insert(_ place: Int) -> Bool {
        guard place < 128, bits & 1 << place == 0 else { return false }
        bits |= 1 << place
        return true
    }

    func first(notIn other: PlaceSet) -> Int? {
        let missing = bits & ~other.bits
        return missing == 0 ? nil : missing.trailingZeroBitCount
    }
}

/// The names of an object's members, found by length and first and last byte.
package final class NameTable: Sendable {
    private let names: [[UInt8]]
    /// For each hash, the index of a name plus 1; 0 if there is none. Names with the same hash are in the slots that
    /// follow.
    private let slots: [UInt8]

    /// - Parameter names: fewer than 255.
    init(_ names: [String]) {
        let names = names.map { Array($0.utf8) }
        var size = 4
        while size < names.count * 4 { size *= 2 }
        var slots = [UInt8](repeating: 0, count: size)
        for (place, name) in names.enumerated() {
            var slot = Self.hash(name[...]) & (size - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = UInt8(truncatingIfNeeded: place + 1)
        }
        self.names = names
        self.slots = slots
    }

    func place(of name: ArraySlice<UInt8>) -> Int? {
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] != 0 {
            let place = Int(slots[slot]) - 1
            if names[place].count == name.count, names[place].elementsEqual(name) { return place }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private static func hash(_ name: ArraySlice<UInt8>) -> Int {
        name.count &* 37 &+ Int(name.first ?? 0) &* 5 &+ Int(name.last ?? 0)
    }
}
