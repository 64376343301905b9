// Converts dates to and from ISO 8601 text: the form in messages, and the form that predicates accept.
//
// Invariants
//   1. Times without a zone are UTC; text is always written in UTC.
//   2. Any text or date gives a result or `nil`; no input traps.
// Not here: the exact spelling of a date in a predicate's text, which is `CAST(seconds, 'NSDate')`.

package import FoundationEssentials

/// ISO 8601 text of dates in the proleptic Gregorian calendar.
package enum DateText {
    private static let secondsPerDay: Int64 = 86_400
    /// The days from 0000-03-01 to 2001-01-01, the reference date.
    private static let referenceDay: Int64 = 730_791

    /// The text `2001-01-01T00:00:00Z`, with milliseconds if there are any; the plain number of seconds for dates
    /// outside the years 0 to 9999.
    package static func text(of date: Date) -> String {
        let seconds = date.timeIntervalSinceReferenceDate
        guard seconds > -63_100_000_000, seconds < 252_400_000_000 else { return "\(seconds) s" }
        let milliseconds = Int64((seconds * 1000).rounded(.down))
        let (days, rest) = milliseconds.quotientAndRemainder(dividingBy: secondsPerDay * 1000)
        let (day, inDay) = rest < 0 ? (days - 1, rest + secondsPerDay * 1000) : (days, rest)
        let (year, month, dayOfMonth) = civil(fromDay: day + referenceDay)
        let fraction = inDay % 1000 == 0 ? "" : "." + padded(inDay % 1000, 3)
        let calendar = [padded(year, 4), padded(month, 2), padded(dayOfMonth, 2)]
        let clock = [inDay / 3_600_000, inDay / 60_000 % 60, inDay / 1000 % 60].map { padded($0, 2) }
        return calendar.joined(separator: "-") + "T" + clock.joined(separator: ":") + fraction + "Z"
    }

    /// The date that `text` spells: `2009-01-31`, `2009-01-31 13:45`, `2009-01-31T13:45:07.25+01:00`.
    static func date(from text: String) -> Date? {
        var reader = Reader(Array(text.utf8))
        guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2), reader.skip("-"),
            let day = reader.number(2), (1...12).contains(month), (1...daysIn(month, of: year)).contains(day)
        else { return nil }
        var seconds = Double((dayNumber(year, month, day) - referenceDay) * secondsPerDay)
        if reader.skip("T") || reader.skip(" ") {
            guard let hour = reader.number(2), reader.skip(":"), let minute = reader.number(2), hour < 24, minute < 60
            else { return nil }
            seconds += Double(hour * 3600 + minute * 60)
            if reader.skip(":") {
                guard let second = reader.number(2), second < 60 else { return nil }
                seconds += Double(second)
                if reader.skip(".") {
                    guard let fraction = reader.fraction() else { return nil }
                    seconds += fraction
                }
            }
            guard let offset = reader.zone() else { return nil }
            seconds -= Double(offset)
        }
        return reader.isAtEnd ? Date(timeIntervalSinceReferenceDate: seconds) : nil
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func daysIn(_ month: Int64, of year: Int64) -> Int64 {
        guard month == 2 else { return [4, 6, 9, 11].contains(month) ? 30 : 31 }
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    }

    /// The number of days since 0000-03-01.
    ///
    /// A year begins in March here, so that a leap day is the last day of its year.
    private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let (year, month) = month < 3 ? (year - 1, month + 9) : (year, month - 3)
        let era = (year >= 0 ? year : year - 399) / 400
        let ofEra = year - era * 400
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + (153 * month + 2) / 5 + day - 1
    }

    private static func civil(fromDay number: Int64) -> (Int64, Int64, Int64) {
        let era = (number >= 0 ? number : number - 146_096) / 146_097
        let ofEra = number - era * 146_097
        let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * year + year / 4 - year / 100)
        let month = (5 * ofYear + 2) / 153
        let day = ofYear - (153 * month + 2) / 5 + 1
        return (era * 400 + year + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9, day)
    }

    private struct Reader {
        private let bytes: [UInt8]
        private var position = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { position == bytes.count }

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        private mutating func digit() -> Int64? {
            guard position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) else {
                return nil
            }
            defer { position += 1 }
            return Int64(bytes[position] - UInt8(ascii: "0"))
        }

        mutating func number(_ digits: Int) -> Int64? {
            var number: Int64 = 0
            for _ in 0..<digits {
                guard let digit = digit() else { return nil }
                number = number * 10 + digit
            }
            return number
        }

        mutating func fraction() -> Double? {
            guard let first = digit() else { return nil }
            var (fraction, unit) = (Double(first) / 10, 0.01)
            while let digit = digit() {
                fraction += Double(digit) * unit
                unit /= 10
            }
            return fraction
        }

        /// The offset from UTC in seconds, positive to the east; 0 if the text has none.
        mutating func zone() -> Int64? {
            if isAtEnd || skip("Z") { return 0 }
            let isEast = skip("+")
            guard isEast || skip("-"), let hours = number(2) else { return nil }
            _ = skip(":")
            guard let minutes = number(2), hours < 24, minutes < 60 else { return nil }
            return (isEast ? 1 : -1) * (hours * 3600 + minutes * 60)
        }
    }
}
