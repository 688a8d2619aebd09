import TransferModel

/// The number by which clients of aria2 name a download. A task that was added otherwise has one too: it follows from the
/// task's id and leads back to it, so that it needs no memory.
struct Aria2GID: Hashable, Sendable, CustomStringConvertible {
    /// The attribute of a task that was added with a number of its own.
    static let attribute = "aria2.gid"
    static let digits = 16

    let number: UInt64

    /// Of the attribute, else of the id.
    init?(of task: JSONValue) {
        if let own = Self.own(of: task) {
            self = own
        } else if let id = task["id"]?.integerValue {
            self.init(task: id)
        } else {
            return nil
        }
    }

    init(task: Int64) { number = Self.mixed(UInt64(bitPattern: task), by: 0xD6E8_FEB8_6659_FD93) }

    /// nil unless the text is 16 hexadecimal digits, not all of them 0.
    init?(_ text: String) {
        guard text.utf8.count == Self.digits, Self.isHexadecimal(text), let number = UInt64(text, radix: 16), number > 0
        else { return nil }
        self.number = number
    }

    private init(number: UInt64) { self.number = number }

    static func random() -> Aria2GID { Aria2GID(number: .random(in: 1...UInt64.max)) }

    static func own(of task: JSONValue) -> Aria2GID? {
        task["attributes"]?[attribute]?.stringValue.flatMap(Aria2GID.init)
    }

    static func isHexadecimal(_ text: String) -> Bool {
        text.utf8.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
    }

    /// The task whose id gives this number, if that can be an id.
    var task: Int64? {
        let id = Self.mixed(number, by: 0xCFEE_444D_8B59_A89B)
        return id > 0 && id < 1 << 53 ? Int64(id) : nil
    }

    var description: String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: Self.digits - text.utf8.count) + text
    }

    /// Takes each number to another one; the inverse of the factor leads back.
    private static func mixed(_ number: UInt64, by factor: UInt64) -> UInt64 {
        let halves = { (value: UInt64) in value ^ value >> 32 }
        return halves(halves(halves(number) &* factor) &* factor)
    }
}
