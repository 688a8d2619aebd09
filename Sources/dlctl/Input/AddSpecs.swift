import TransferModel

/// The specs of an `AddPlan`, made lazily, because a pattern may match millions of URLs.
struct AddSpecs: RandomAccessCollection {
    private let plan: AddPlan
    private let patterns: [URLPattern]
    /// The index after the last spec of each pattern.
    private let ends: [Int]
    /// `Int.max` if there are more than an Int can count.
    let count: Int

    init(plan: AddPlan, patterns: [URLPattern]) {
        self.plan = plan
        self.patterns = patterns
        var end = 0
        var ends: [Int] = []
        for pattern in patterns {
            end = end.adding(pattern.count)
            ends.append(end)
        }
        self.ends = ends
        count = end.adding(plan.entries.count + plan.files.count + (plan.resumeData == nil ? 0 : 1))
    }

    var startIndex: Int { 0 }
    var endIndex: Int { count }

    subscript(position: Int) -> TaskSpec {
        var spec = self.spec(position)
        if let url = spec.url, !plan.cookies.isEmpty {
            let own = CookieSource.cookies(plan.cookies, for: url)
            if !own.isEmpty { spec.cookies = own }
        }
        if let token = plan.clientToken { spec.clientToken = count == 1 ? token : "\(token)/\(position + 1)" }
        return spec
    }

    private func spec(_ position: Int) -> TaskSpec {
        var rest = position - (ends.last ?? 0)
        if rest < 0 {
            let index = pattern(of: position)
            return plan.spec(patterns[index][position - (index == 0 ? 0 : ends[index - 1])])
        }
        if rest < plan.entries.count { return plan.spec(entry: plan.entries[rest]) }
        rest -= plan.entries.count
        if rest < plan.files.count { return plan.spec(file: plan.files[rest]) }
        return plan.spec(resumeData: plan.resumeData ?? "")
    }

    /// Finds the pattern of this spec by bisection.
    private func pattern(of position: Int) -> Int {
        var candidates = ends.indices
        while candidates.count > 1 {
            let middle = candidates.lowerBound + candidates.count / 2
            candidates =
                ends[middle - 1] > position
                ? candidates.lowerBound..<middle : middle..<candidates.upperBound
        }
        return candidates.lowerBound
    }
}
