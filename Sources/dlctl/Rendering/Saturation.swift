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

    func adding(_ other: ByteRate) -> ByteRate {
        let (sum, overflow) = rawValue.addingReportingOverflow(other.rawValue)
        return overflow ? ByteRate(Int64.max) : ByteRate(sum)
    }
}

extension ByteCount {
    func adding(_ other: ByteCount) -> ByteCount {
        let (sum, overflow) = rawValue.addingReportingOverflow(other.rawValue)
        return overflow ? ByteCount(Int64.max) : ByteCount(sum)
    }
}
