import TransferModel

/// HTTP dates in the three formats of RFC 9110 section 5.6.7; seconds since 1970.
package enum HTTPDate {
    static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// 9999-12-31T23:59:59Z
    private static let last: Int64 = 253_402_300_799

    /// nil if the text is none of the three.
    package static func parse(_ text: String) -> Int64? {
        var fields = text.lowercased().utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }
            .map { String(Substring($0)) }
        // An accepted date may be sent back (If-Range).
        guard fields.count >= 4, fields[0].utf8.allSatisfy({ (97...122).contains($0) }) else { return nil }
        fields.removeFirst()
        if let month = months.firstIndex(of: fields[0]), fields.count == 4 {
            // asctime: Nov  6 08:49:37 1994
            return seconds(day: fields[1], month: month, year: fields[3], time: fields[2], twoDigits: false)
        }
        if fields[0].contains("-") {
            // RFC 850: 06-Nov-94 08:49:37 GMT
            let date = fields[0].split(separator: "-").map(String.init)
            guard date.count == 3, fields.count == 3, isUTC(fields[2]), let month = months.firstIndex(of: date[1])
            else { return nil }
            return seconds(day: date[0], month: month, year: date[2], time: fields[1], twoDigits: date[2].count == 2)
        }
        // IMF-fixdate: 06 Nov 1994 08:49:37 GMT
        guard fields.count == 5, isUTC(fields[4]), let month = months.firstIndex(of: fields[1]) else { return nil }
        return seconds(day: fields[0], month: month, year: fields[2], time: fields[3], twoDigits: false)
    }

    /// Whether a text that `parse` reads is written exactly as one of the three.
    static func isExact(_ text: String) -> Bool {
        let shape = text.utf8.reduce(into: "") { shape, byte in
            let kind = byte.isDigit ? UInt8(ascii: "0") : byte.isLetter ? UInt8(ascii: "a") : byte
            shape.unicodeScalars.append(Unicode.Scalar(kind))
        }
        if shape == "aaa aaa 00 00:00:00 0000" || shape == "aaa aaa  0 00:00:00 0000" { return true }
        guard text.hasSuffix(" GMT") else { return false }
        let day = shape.prefix { $0 == "a" }.count
        return shape == "aaa, 00 aaa 0000 00:00:00 aaa"
            || (6...9).contains(day) && shape.dropFirst(day) == ", 00-aaa-00 00:00:00 aaa"
    }

    /// IMF-fixdate.
    package static func format(_ seconds: Int64) -> String {
        let day = Int64((Double(seconds) / 86_400).rounded(.down))
        let (year, month, dayOfMonth) = civil(day)
        let rest = seconds - day * 86_400
        let weekday = days[Int(((day % 7) + 7) % 7)]
        let clock = [rest / 3600, rest / 60 % 60, rest % 60].map { pad($0) }.joined(separator: ":")
        let name = months[Int(month) - 1]
        return
            "\(weekday), \(pad(dayOfMonth)) \(name.prefix(1).uppercased())\(name.dropFirst()) \(pad(year, to: 4)) \(clock) GMT"
    }

    private static func pad(_ number: Int64, to width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func isUTC(_ zone: String) -> Bool { zone == "gmt" || zone == "utc" }

    private static func seconds(day: String, month: Int, year: String, time: String, twoDigits: Bool) -> Int64? {
        let clock = time.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map {
            Int64(Substring($0))
        }
        guard let day = Int64(day), (1...31).contains(day), var year = Int64(year), (0...9999).contains(year),
            clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        if twoDigits { year += year < 70 ? 2000 : 1900 }
        let seconds = dayNumber(year, Int64(month) + 1, day) * 86_400 + hour * 3600 + minute * 60 + second
        // A leap second at the end of 9999 falls in a year that the format cannot write.
        return seconds <= last ? seconds : nil
    }

    /// Days since 1970-01-01 in the proleptic Gregorian calendar; years begin in March, so that leap days come last.
    static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ dayNumber: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = dayNumber + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        )
    }
}
