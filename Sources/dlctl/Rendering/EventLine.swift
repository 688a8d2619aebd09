import TransferModel
import TransferRPC

/// One event as a line: number, time, task and what happened.
enum EventLine {
    static func render(_ event: EventView, withDate: Bool = true) -> StyledText {
        var line = StyledText()
        let number = event.sequence?.description ?? "·"
        line.append(DisplayWidth.paddedLeft(number, 6) + "  ", .faint)
        line.append(LocalTime.text(event.time) + "  ", .faint)
        if let task = event.task { line.append("\(task)  ", .strong) }
        line.append(event.type.rawValue, event.type.tone)
        let details = self.details(event)
        if !details.isEmpty { line.append("  " + details) }
        return line
    }

    /// The members of the payload in words; unknown ones are shown as `name=value`.
    static func details(_ event: EventView) -> String {
        if event.type == .taskDecision, let asked = question(event) { return asked }
        var rest = event.payload
        var parts: [String] = []
        func take(_ name: String, _ describe: (JSONValue) -> String?) {
            guard let value = rest.removeValue(forKey: name) else { return }
            if let text = describe(value) { parts.append(text) }
        }
        take("reason") { $0.stringValue.map(Printable.text) }
        take("explanation") { $0.stringValue.map(Printable.text) }
        take("error") {
            "\($0["code"]?.stringValue ?? "?"): \(CommandWords.text($0["message"]?.stringValue ?? "", task: event.task))"
        }
        take("code") { $0.stringValue.map(Printable.text) }
        take("message") { $0.stringValue.map(Printable.text) }
        take("pieces") { $0.arrayValue.map { $0.count == 1 ? "1 piece" : "\($0.count) pieces" } }
        take("status") { $0.integerValue.map(String.init) }
        take("hsts") { $0.boolValue == true ? "HSTS" : nil }
        take("phase") { $0.stringValue.map(Printable.text) }
        take("fields") { $0.arrayValue.map { Printable.text($0.compactMap(\.stringValue).joined(separator: ", ")) } }
        take("response", response)
        take("attempt") { $0.integerValue.map { "attempt \($0)" } }
        take("state") { $0.stringValue.map(Printable.text) }
        take("offset") { bytes($0).map { "at \($0)" } }
        take("bytesReceived", bytes)
        for name in ["expected", "bytesExpected"] { take(name) { bytes($0).map { "of \($0)" } } }
        take("bytesSent") { $0.integerValue.flatMap { $0 > 0 ? Figures.bytes(ByteCount($0)) + " sent" : nil } }
        take("bytesToSend") { $0.integerValue.flatMap { $0 > 0 ? "of " + Figures.bytes(ByteCount($0)) : nil } }
        take("resumedFrom") { bytes($0).map { "resumed at \($0)" } }
        take("rate") { $0.numberValue.map { Figures.rate(ByteRate(clamping: $0)) } }
        take("eta") { $0.numberValue.map { "ETA " + Figures.duration(Seconds(rawValue: $0)) } }
        take("bytes", bytes)
        take("duration") { $0.numberValue.map { "in " + Figures.took(Seconds(rawValue: $0)) } }
        take("file") { $0.stringValue.map(Printable.text) }
        take("nextAttemptAt") { $0.stringValue.flatMap { Timestamp($0) }.map { "next attempt " + LocalTime.text($0) } }
        take("verified") { $0.boolValue == true ? "verified" : nil }
        take("url") { $0.stringValue.map(Printable.text) }
        take("mirrors") { value in
            value.arrayValue.map { "from " + Printable.text($0.compactMap(\.stringValue).joined(separator: ", ")) }
        }
        for (name, value) in rest.sorted(by: { $0.key < $1.key }) where value != .null {
            parts.append("\(Printable.text(name))=\(Printable.text(JSONText.plain(value), limit: 120))")
        }
        // A sentence that is continued has no full stop.
        let begun = parts.dropLast().map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
        return (begun + parts.suffix(1)).joined(separator: ", ")
    }

    /// `question 3: The server redirects (302) to GET http://b/.` nil if a newer daemon asks what this dlctl does not know.
    private static func question(_ event: EventView) -> String? {
        guard let number = event.payload["decision"]?.integerValue,
            let question = try? JSONCoding.decode(Question.self, from: JSONCoding.encode(event.payload), lenient: true)
        else { return nil }
        return "question \(number): \(DecisionLines.sentence(question))"
    }

    /// `200 OK, application/zip, 5.0 MiB`. `show` lists the header fields.
    private static func response(_ value: JSONValue) -> String? {
        let status = value["status"]?.integerValue.map { "\($0) \(value["statusText"]?.stringValue ?? "")" }
        let length = value["expectedLength"].flatMap(bytes)
        return [status, value["mimeType"]?.stringValue, length].compactMap { $0 }.map(Printable.text)
            .joined(separator: ", ")
    }

    private static func bytes(_ value: JSONValue) -> String? {
        value.integerValue.flatMap { $0 >= 0 ? Figures.bytes(ByteCount($0)) : nil }
    }
}
