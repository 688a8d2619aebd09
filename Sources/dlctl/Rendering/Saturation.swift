import TransferModel

// Figures come from a daemon of any version. A strange one may spoil a number, but not the program.

extension ByteRate {
    /// The nearest rate that can be represented; 0 for NaN.
    init(clamping bytesPerSecond: Double) {
        guard bytesPerSecond > 0 else {
            self = 0
            return
        }
        self.init(bytesPerSecond < 0x1p62 ? Int64(bytesPerSecond.rounded()) : Int64.max)
    }
}

extension FixedWidthInteger {
    /// The sum, or the greatest number if that is greater.
    func adding(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
