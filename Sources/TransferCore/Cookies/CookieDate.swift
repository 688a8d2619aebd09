import TransferModel

/// Dates of the Expires attribute. The algorithm of RFC 6265bis section 5.1.1 accepts much that no date format allows.
package enum CookieDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// nil if the text has no date, or a date that does not exist.
    package static func parse(_ text: Substring) -> Timestamp? {
        var time: (hour: Int, minute: Int, second: Int)?
        var (day, month, year): (Int?, Int?, Int?)
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = clock(token) {
                time = found
            } else if day == nil, let found = number(token, of: 1...2) {
                day = found
            } else if month == nil, let found = monthNumber(token) {
                month = found
            } else if year == nil, let found = number(token, of: 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if (70...99).contains(year) { year += 1900 }
        if (0...69).contains(year) { year += 2000 }
        guard year >= 1601, (1...daysOf(month, year)).contains(day), time.hour <= 23, time.minute <= 59,
            time.second <= 59
        else { return nil }
        let days = HTTPDate.dayNumber(Int64(year), Int64(month), Int64(day))
        return Timestamp(
            milliseconds: (days * 86_400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)) * 1000)
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// The number at the start of the token, if it has a permitted count of digits and no further digit follows.
    private static func number(_ token: Substring.UTF8View, of lengths: ClosedRange<Int>) -> Int? {
        let digits = token.prefix(while: isDigit)
        return lengths.contains(digits.count) ? Int(Substring(digits)) : nil
    }

    private static func clock(_ token: Substring.UTF8View) -> (Int, Int, Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(isDigit), parts[1].allSatisfy(isDigit),
            let hour = number(parts[0], of: 1...2), let minute = number(parts[1], of: 1...2),
            let second = number(parts[2], of: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func monthNumber(_ token: Substring.UTF8View) -> Int? {
        months.firstIndex(of: Substring(token.prefix(3)).lowercased()).map { $0 + 1 }
    }

    private static func daysOf(_ month: Int, _ year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }
}
