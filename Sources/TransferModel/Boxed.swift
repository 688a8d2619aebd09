/// Keeps a large value in one place, so that copies of the value that contains it are small: a thousand waiting
/// transfers hold dozens of such copies each. The value is copied only when a shared copy is changed.
@propertyWrapper
public struct Boxed<Value: Sendable>: Sendable {
    /// Changed only while a single box refers to it, so accesses need no exclusivity check.
    @usableFromInline
    final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) @usableFromInline var value: Value

        @usableFromInline
        init(_ value: Value) { self.value = value }
    }

    @usableFromInline var storage: Storage

    @inlinable
    public init(wrappedValue: Value) { storage = Storage(wrappedValue) }

    @inlinable public var wrappedValue: Value {
        get { storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
        set {
            if isKnownUniquelyReferenced(&storage) { storage.value = newValue } else { storage = Storage(newValue) }
        }
    }

    /// The box itself, to be shared.
    @inlinable public var projectedValue: Boxed {
        get { self }
        set { self = newValue }
    }
}

extension Boxed: Equatable where Value: Equatable {
    public static func == (left: Self, right: Self) -> Bool {
        left.storage === right.storage || left.wrappedValue == right.wrappedValue
    }
}

extension Boxed: Hashable where Value: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

/// Like `Boxed`, for a value that is often absent; then there is no box either.
@propertyWrapper
public struct BoxedOptional<Value: Sendable>: Sendable {
    @usableFromInline var box: Boxed<Value>?

    @inlinable
    public init() { box = nil }

    @inlinable
    public init(wrappedValue: Value?) { box = wrappedValue.map { Boxed(wrappedValue: $0) } }

    @inlinable public var wrappedValue: Value? {
        get { box?.wrappedValue }
        set { box = newValue.map { Boxed(wrappedValue: $0) } }
    }
}

extension BoxedOptional: Equatable where Value: Equatable {}
extension BoxedOptional: Hashable where Value: Hashable {}
