/// RFC 3339 in the one form that dld writes, `2026-01-31T08:00:00.000Z`, without the cost of a formatter: events and
/// pages are full of times. The formatter handles every other form.
enum PlainTime {
    private static let day: Int64 = 86_400_000

    /// Bytes of each text.
    static let count = 24

    /// Milliseconds since 1970 as text; nil outside the years 1600 to 9999.
    static func text(_ milliseconds: Int64) -> String? {
        guard written.contains(milliseconds) else { return nil }
        return String(unsafeUninitializedCapacity: count) { write(milliseconds, to: $0) }
    }

    /// The times whose years are 1600 to 9999.
    static let written = Int64(-11_676_096_000_000)..<253_402_300_800_000

    /// Writes the text of a time in `written`.
    /// - Parameter bytes: has room for it.
    /// - Returns: its length.
    static func write(_ milliseconds: Int64, to bytes: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let days = milliseconds >= 0 ? milliseconds / day : (milliseconds - day + 1) / day
        let rest = Int(milliseconds - days * day)
        let date = civil(days)
        func write(_ value: Int, at place: Int) {
            bytes[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 10)
            bytes[place + 1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10)
        }
        write(Int(date.year) / 100, at: 0)
        write(Int(date.year) % 100, at: 2)
        bytes[4] = UInt8(ascii: "-")
        write(Int(date.month), at: 5)
        bytes[7] = UInt8(ascii: "-")
        write(Int(date.day), at: 8)
        bytes[10] = UInt8(ascii: "T")
        write(rest / 3_600_000, at: 11)
        bytes[13] = UInt8(ascii: ":")
        write(rest / 60_000 % 60, at: 14)
        bytes[16] = UInt8(ascii: ":")
        write(rest / 1000 % 60, at: 17)
        bytes[19] = UInt8(ascii: ".")
        write(rest % 1000 / 10, at: 20)
        bytes[22] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        bytes[23] = UInt8(ascii: "Z")
        return count
    }

    /// nil if the text does not have exactly that form, with or without the three digits of the fraction.
    static func parse(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 24 || bytes.count == 20, bytes[bytes.count - 1] == UInt8(ascii: "Z"),
            zip([4, 7, 10, 13, 16], "--T::".utf8).allSatisfy({ bytes[$0] == $1 }),
            bytes.count == 20 || bytes[19] == UInt8(ascii: "."),
            let year = number(bytes, 0, 4), let month = number(bytes, 5, 2), let date = number(bytes, 8, 2),
            let hour = number(bytes, 11, 2), let minute = number(bytes, 14, 2), let second = number(bytes, 17, 2),
            let fraction = bytes.count == 24 ? number(bytes, 20, 3) : 0,
            year >= 1600, (1...12).contains(month), (1...31).contains(date), hour < 24, minute < 60, second < 60
        else { return nil }
        let days = self.days(year, month, date)
        // A day that does not exist in its month comes back as another day.
        guard civil(days) == (year, month, date) else { return nil }
        return days * day + hour * 3_600_000 + minute * 60_000 + second * 1000 + fraction
    }

    private static func number(_ bytes: [UInt8], _ start: Int, _ count: Int) -> Int64? {
        var value: Int64 = 0
        for byte in bytes[start..<start + count] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return value
    }

    /// Days since 1970 of a date of the Gregorian calendar. Years begin in March, so that a leap day is the last day of
    /// its year. An era is 400 years; all eras have the same length.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let inEra = year - era * 400
        let inYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + inEra * 365 + inEra / 4 - inEra / 100 + inYear - 719_468
    }

    /// The reverse.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let inEra = shifted - era * 146_097
        let year = (inEra - inEra / 1460 + inEra / 36_524 - inEra / 146_096) / 365
        let inYear = inEra - (365 * year + year / 4 - year / 100)
        let month = (5 * inYear + 2) / 153
        let date = inYear - (153 * month + 2) / 5 + 1
        return (year + era * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9, date)
    }
}
