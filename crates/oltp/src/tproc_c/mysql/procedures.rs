//! The transactions as stored procedures. They neither commit nor roll back: the session does, by their answer.

/// What New-Order returns where an item does not exist, so that the order is to be rolled back.
pub(super) const UNUSED_ITEM: i64 = -1;

/// Their names within ours.
pub(super) const NAMES: [&str; 5] =
    ["new_order_txn", "payment_txn", "order_status_txn", "delivery_txn", "stock_level_txn"];

/// Creates them.
pub(super) const CREATE: [&str; 5] = [NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL];

const NEW_ORDER: &str = "
CREATE PROCEDURE tproc_c_new_order_txn(wid INT, did INT, cid INT, line_count INT, is_local INT, items VARCHAR(200),
    suppliers VARCHAR(200), quantities VARCHAR(100))
body: BEGIN
    DECLARE discount, w_rate, d_rate, next_id, n, item_id, supplier, quantity, price, left_over, amount INT;
    DECLARE total BIGINT DEFAULT 0;
    DECLARE last_name, credit, info, item_data VARCHAR(50);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET price = NULL;
    SELECT c_discount, c_last, c_credit, w_tax INTO discount, last_name, credit, w_rate
      FROM tproc_c_customer, tproc_c_warehouse WHERE w_id = wid AND c_w_id = w_id AND c_d_id = did AND c_id = cid;
    SELECT d_next_o_id, d_tax INTO next_id, d_rate FROM tproc_c_district WHERE d_w_id = wid AND d_id = did FOR UPDATE;
    UPDATE tproc_c_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = wid AND d_id = did;
    INSERT INTO tproc_c_orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (wid, did, next_id, cid, NOW(), NULL, line_count, is_local);
    INSERT INTO tproc_c_new_order (no_w_id, no_d_id, no_o_id) VALUES (wid, did, next_id);
    SET n = 1;
    WHILE n <= line_count DO
        SET item_id = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(items, ',', n), ',', -1) AS SIGNED);
        SET supplier = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(suppliers, ',', n), ',', -1) AS SIGNED);
        SET quantity = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(quantities, ',', n), ',', -1) AS SIGNED);
        SET price = NULL;
        SELECT i_price, i_data INTO price, item_data FROM tproc_c_item WHERE i_id = item_id;
        IF price IS NULL THEN
            SELECT -1;
            LEAVE body;
        END IF;
        SELECT s_quantity, CASE did WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
               WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
               WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
          INTO left_over, info FROM tproc_c_stock WHERE s_w_id = supplier AND s_i_id = item_id FOR UPDATE;
        SET left_over = left_over - quantity;
        IF left_over < 10 THEN SET left_over = left_over + 91; END IF;
        UPDATE tproc_c_stock SET s_quantity = left_over, s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1,
               s_remote_cnt = s_remote_cnt + IF(supplier <> wid, 1, 0) WHERE s_w_id = supplier AND s_i_id = item_id;
        SET amount = price * quantity;
        SET total = total + amount;
        INSERT INTO tproc_c_order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
               ol_quantity, ol_amount, ol_dist_info)
        VALUES (wid, did, next_id, n, item_id, supplier, NULL, quantity, amount, info);
        SET n = n + 1;
    END WHILE;
    SELECT total * (10000 - discount) * (10000 + w_rate + d_rate) DIV 100000000;
END";

const PAYMENT: &str = "
CREATE PROCEDURE tproc_c_payment_txn(wid INT, did INT, cwid INT, cdid INT, cid INT, named VARCHAR(16), paid BIGINT)
BEGIN
    DECLARE payer, namesakes, middle INT;
    DECLARE w_name_of, d_name_of VARCHAR(10);
    DECLARE credit CHAR(2);
    DECLARE old_data VARCHAR(500);
    SET payer = cid;
    UPDATE tproc_c_warehouse SET w_ytd = w_ytd + paid WHERE w_id = wid;
    SELECT w_name INTO w_name_of FROM tproc_c_warehouse WHERE w_id = wid;
    UPDATE tproc_c_district SET d_ytd = d_ytd + paid WHERE d_w_id = wid AND d_id = did;
    SELECT d_name INTO d_name_of FROM tproc_c_district WHERE d_w_id = wid AND d_id = did;
    IF payer = 0 THEN
        SELECT COUNT(*) INTO namesakes FROM tproc_c_customer WHERE c_w_id = cwid AND c_d_id = cdid AND c_last = named;
        SET middle = (namesakes + 1) DIV 2 - 1;
        SELECT c_id INTO payer FROM tproc_c_customer WHERE c_w_id = cwid AND c_d_id = cdid AND c_last = named
         ORDER BY c_first LIMIT middle, 1;
    END IF;
    SELECT c_credit, c_data INTO credit, old_data FROM tproc_c_customer
     WHERE c_w_id = cwid AND c_d_id = cdid AND c_id = payer FOR UPDATE;
    IF credit = 'BC' THEN
        SET old_data = LEFT(CONCAT(CONCAT_WS(' ', payer, cdid, cwid, did, wid, paid), '|', old_data), 500);
    END IF;
    UPDATE tproc_c_customer SET c_balance = c_balance - paid, c_ytd_payment = c_ytd_payment + paid,
           c_payment_cnt = c_payment_cnt + 1, c_data = old_data WHERE c_w_id = cwid AND c_d_id = cdid AND c_id = payer;
    INSERT INTO tproc_c_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (payer, cdid, cwid, did, wid, NOW(), paid, CONCAT(w_name_of, '    ', d_name_of));
END";

const ORDER_STATUS: &str = "
CREATE PROCEDURE tproc_c_order_status_txn(wid INT, did INT, cid INT, named VARCHAR(16))
BEGIN
    DECLARE customer_id, namesakes, middle, last_order, found_lines INT;
    DECLARE balance BIGINT;
    SET customer_id = cid;
    IF customer_id = 0 THEN
        SELECT COUNT(*) INTO namesakes FROM tproc_c_customer WHERE c_w_id = wid AND c_d_id = did AND c_last = named;
        SET middle = (namesakes + 1) DIV 2 - 1;
        SELECT c_id INTO customer_id FROM tproc_c_customer WHERE c_w_id = wid AND c_d_id = did AND c_last = named
         ORDER BY c_first LIMIT middle, 1;
    END IF;
    SELECT c_balance INTO balance FROM tproc_c_customer WHERE c_w_id = wid AND c_d_id = did AND c_id = customer_id;
    SELECT o_id INTO last_order FROM tproc_c_orders WHERE o_w_id = wid AND o_d_id = did AND o_c_id = customer_id
     ORDER BY o_id DESC LIMIT 1;
    SELECT COUNT(ol_amount) INTO found_lines FROM tproc_c_order_line
     WHERE ol_w_id = wid AND ol_d_id = did AND ol_o_id = last_order;
    SELECT found_lines;
END";

const DELIVERY: &str = "
CREATE PROCEDURE tproc_c_delivery_txn(wid INT, carrier INT)
BEGIN
    DECLARE did, attempt, oldest, buyer INT;
    DECLARE skipped INT DEFAULT 0;
    DECLARE amount BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET oldest = NULL;
    SET did = 1;
    WHILE did <= 10 DO
        SET oldest = NULL, attempt = 1;
        WHILE oldest IS NULL AND attempt <= 3 DO
            SELECT no_o_id INTO oldest FROM tproc_c_new_order WHERE no_w_id = wid AND no_d_id = did
             ORDER BY no_o_id LIMIT 1 FOR UPDATE;
            SET attempt = attempt + 1;
        END WHILE;
        IF oldest IS NULL THEN
            SET skipped = skipped + 1;
        ELSE
            DELETE FROM tproc_c_new_order WHERE no_w_id = wid AND no_d_id = did AND no_o_id = oldest;
            SELECT o_c_id INTO buyer FROM tproc_c_orders WHERE o_w_id = wid AND o_d_id = did AND o_id = oldest;
            UPDATE tproc_c_orders SET o_carrier_id = carrier WHERE o_w_id = wid AND o_d_id = did AND o_id = oldest;
            UPDATE tproc_c_order_line SET ol_delivery_d = NOW() WHERE ol_w_id = wid AND ol_d_id = did AND ol_o_id = oldest;
            SELECT SUM(ol_amount) INTO amount FROM tproc_c_order_line
             WHERE ol_w_id = wid AND ol_d_id = did AND ol_o_id = oldest;
            UPDATE tproc_c_customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
             WHERE c_w_id = wid AND c_d_id = did AND c_id = buyer;
        END IF;
        SET did = did + 1;
    END WHILE;
    SELECT skipped;
END";

const STOCK_LEVEL: &str = "
CREATE PROCEDURE tproc_c_stock_level_txn(wid INT, did INT, threshold INT)
BEGIN
    DECLARE next_id INT;
    DECLARE low BIGINT;
    SELECT d_next_o_id INTO next_id FROM tproc_c_district WHERE d_w_id = wid AND d_id = did;
    SELECT COUNT(DISTINCT s_i_id) INTO low FROM tproc_c_order_line, tproc_c_stock
     WHERE ol_w_id = wid AND ol_d_id = did AND ol_o_id >= next_id - 20 AND ol_o_id < next_id AND s_w_id = wid
       AND s_i_id = ol_i_id AND s_quantity < threshold;
    SELECT low;
END";
