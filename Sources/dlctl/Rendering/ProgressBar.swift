import TransferModel

/// A bar of a given number of cells: full cells, a half cell if the fraction lies in between, then the track.
enum ProgressBar {
    static func text(fraction: Double, width: Int, tone: Tone = .accent) -> StyledText {
        guard width > 0 else { return "" }
        let halves = Int((min(1, max(0, fraction)) * Double(width) * 2).rounded(.down))
        let full = halves / 2
        let half = full < width && halves % 2 == 1 ? 1 : 0
        return StyledText(String(repeating: "━", count: full) + (half == 1 ? "╸" : ""), tone)
            + StyledText(String(repeating: "─", count: width - full - half), .faint)
    }

    /// A block that moves along the track, for an unknown length. `tick` counts redraws.
    static func wandering(tick: Int, width: Int) -> StyledText {
        guard width > 0 else { return "" }
        let block = min(width, max(1, width / 4))
        let span = width - block
        let period = max(1, span * 2)
        let phase = ((tick % period) + period) % period
        let start = span == 0 ? 0 : (phase <= span ? phase : period - phase)
        return StyledText(String(repeating: "─", count: start), .faint)
            + StyledText(String(repeating: "━", count: block), .accent)
            + StyledText(String(repeating: "─", count: span - start), .faint)
    }
}
